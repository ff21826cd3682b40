"""Files and functions of others, read into hopcast's own objects. One file per format."""
