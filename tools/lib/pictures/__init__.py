"""The parts of tools/pictures: an SVG canvas, and one picture in each file."""
