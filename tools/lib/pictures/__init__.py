"""What tools/pictures draws with: a canvas of SVG, and one picture a file."""
