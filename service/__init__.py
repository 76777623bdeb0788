"""The sidecar itself: the in-process runtime, the HTTP service over it, and the command line."""
