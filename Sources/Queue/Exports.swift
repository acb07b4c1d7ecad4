// An importer of Queue needs the vocabulary (commands, JSON) and the protocol of operations, whatever module has them.
@_exported public import Commands
@_exported public import Operations
