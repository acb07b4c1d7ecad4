internal import BuiltIn
public import Operations
public import Queue

/// Apart from the client, which knows no operation.
extension SluiceClient {
    /// Opens the store of a data directory. It blocks, for up to 10 s while another process is making the
    /// store.
    ///
    /// - Parameters:
    ///   - path: the data directory, `./sluice-data` for the command line. A relative path starts at the
    ///     working directory.
    ///   - store: the URL of a store on a PostgreSQL server, `postgres://user@host/database`, that “sluice store create” has
    ///     made. The data directory then has what belongs to this machine. The default is nil: the store is in the
    ///     directory.
    ///   - operations: operations of your own, in addition to `upload` and `noop`. They check the payloads of
    ///     their types and read the destination. The default is none.
    ///   - create: make the directory and its store where there is none. The default is true.
    /// - Precondition: no two operations have the same type, and every type has the form `[a-z0-9.-]+`, at
    ///   most 64 characters. An operation of type `upload` or `noop` replaces the built-in one.
    /// - Throws: ``SluiceError``: `noStore` without a store where `create` is false, or on the server; `invalid` for a URL in
    ///   place of the path, and for a store that is none; `notPermitted` where the directory belongs to another user or is
    ///   open to others, or where the store belongs to another directory; `cannotWrite` where a new store cannot be
    ///   written; `tryAgain` where no descriptors are left, or where the server has not answered for 10 s. A damaged shard
    ///   is an error of the first use, not of this call.
    public convenience init(
        data path: String, store: String? = nil, operations: [any CommandOperation] = [], create: Bool = true
    ) throws(SluiceError) {
        try self.init(
            data: path, store: store, registry: BuiltInOperations.registry(and: operations), create: create)
    }
}
