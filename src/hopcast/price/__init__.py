"""How long a schedule takes: by closed form and step by step; and how long it must take at least."""
