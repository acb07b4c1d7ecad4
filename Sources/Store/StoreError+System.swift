internal import Commands

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension StoreError {
    /// What the operating system refused.
    init(errno code: CInt, _ what: String) {
        let kind: Code =
            switch code {
            case ENOSPC, EDQUOT, EIO: .full
            case ENOENT: .missing
            default: .permission
            }
        self.init(kind, "\(what): \(String(cString: strerror(code))).")
    }

    static func noCommand(_ id: CommandID) -> StoreError {
        StoreError(.notFound, "There is no command \(id).", id: id)
    }
}
