package import Commands
package import Membership
internal import Store

/// A store that was copied to another one.
package struct CopiedStore: Sendable {
    /// For messages, without passwords.
    package var from, to: String
    /// The number of rows by kind, with the name of the kind for programs and for people.
    package var rows: [(key: String, name: String, count: Int)]
    /// Commands that were claimed and were released in the target, by their new status.
    package var claimed: [CommandStatus: Int]
    /// Open uploads that were left out.
    package var uploadsLeft: Int
    /// Uploads with bytes in the spool of the source, which is not copied.
    package var spooledUploads: Int
    /// The data directory that has the target already; nil for a data directory, and for a store on which no work has begun.
    package var host: String?
    /// The spool of the source, where its data directory is on this machine.
    package var spool: String?
    /// The file in the spool that makes a door of the target refuse it.
    package var spoolMark: String?
}

extension ServerStores {
    /// Copies a store to one that is made or is empty. Neither is in use meanwhile.
    /// - Parameters:
    ///   - withoutUploads: leaves out open uploads.
    ///   - progress: is called when the target has a mark, by which every process refuses it until the end, with a total of 0; then
    ///     after each page.
    /// - Throws: ``SluiceError`` `tryAgain` for a store in use, and for open uploads; `noStore`; `invalid` for a target that is
    ///   not empty; `corrupt` where the rows of both differ.
    package static func copy(
        _ from: StoreLocation, to target: StoreLocation, withoutUploads: Bool,
        progress: (_ kind: String, _ rows: Int, _ total: Int) -> Void
    ) throws -> CopiedStore {
        do throws(StoreError) {
            let report = try StoreCopy.run(from: from.place, to: target.place, withoutUploads: withoutUploads) {
                progress($0.kind.rawValue, $0.rows, $0.total)
            }
            return CopiedStore(
                from: from.place.name, to: target.place.name,
                rows: CopiedKind.allCases.compactMap { kind in
                    report.rows[kind].map { ("\(kind)", kind.rawValue, $0) }
                },
                claimed: report.released, uploadsLeft: report.uploadsLeft, spooledUploads: report.spooledUploads,
                host: report.host, spool: report.spool, spoolMark: report.spoolMark)
        } catch {
            throw SluiceError(error)
        }
    }
}

extension StoreLocation {
    fileprivate var place: StoreCopy.Place {
        switch self {
        case .directory(let directory): .directory(directory)
        case .server(let url, _): .server(url: url)
        }
    }
}
