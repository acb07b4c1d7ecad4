// An importer of Sluice needs the client, and what its functions take and return, whatever module has them.
@_exported public import Queue
