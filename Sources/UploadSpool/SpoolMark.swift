internal import Host

/// The empty file `store.ID` in a spool, with the id of the store whose bytes are there. The directory under a file system
/// that is not mounted has none, and that of another store has another.
package struct SpoolMark: Sendable {
    package enum Standing: Sendable, Equatable {
        /// The spool of this store.
        case own
        case missing
        /// The spool of another store, with the name of its mark.
        case foreign(String)
    }

    private let spool: SpoolDirectory
    private let name: String

    /// The file that is the mark.
    package var path: String { "\(spool.path)/\(name)" }

    /// - Parameter store: the id of the store.
    package init(_ spool: SpoolDirectory, store: String) {
        self.spool = spool
        name = DataDirectory.uploadsMark(of: store)
    }

    package var standing: Standing {
        get throws(SystemError) {
            let marks = try spool.names().filter { $0.hasPrefix(DataDirectory.uploadsMarkPrefix) }
            return marks.contains(name) ? .own : marks.first.map { .foreign($0) } ?? .missing
        }
    }
}
