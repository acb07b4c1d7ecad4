internal import Commands
package import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension StoreError {
    /// A system call that failed.
    package init(_ error: SystemError) {
        let code: Code =
            switch error.code {
            case ENOSPC, EDQUOT, EIO, EFBIG: .full
            case ENOENT: .missing
            case EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN, EINTR: .exhausted
            default: .permission
            }
        let sentence = "\(error)"
        self.init(code, "\(sentence.prefix(1).uppercased())\(sentence.dropFirst()).")
    }

    static func backup(in directory: DataDirectory, of time: Timestamp, shard: Int? = nil) -> StoreError {
        StoreError(
            .backup,
            "\(directory.path) is a backup of \(time), which can only be read; “sluice restore \(directory.path)” puts it "
                + "into a data directory.", shard: shard)
    }

    static func noCommand(_ id: CommandID) -> StoreError {
        StoreError(.notFound, "There is no command \(id).", id: id)
    }
}
