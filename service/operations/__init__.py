"""The operations of the service, one class a room, bound to the runtime and to who calls.

Each method makes all semantic checks (422), then asks for the permission (403), then touches the storage (404, 409, …):
the order of CONTRACT section 1, whether the call comes over HTTP or from inside the process.
"""
