// A test needs the library too: commands, operations, the client.
@_exported public import Sluice
