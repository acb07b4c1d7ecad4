internal import Fetch
internal import Host
internal import Queue
internal import Sync

/// The checks of `doctor` on collections and stored responses. It changes nothing.
struct StoredDataCheck {
    private let directory: DataDirectory

    init(_ directory: DataDirectory) { self.directory = directory }

    func findings() -> [Finding] { collections() + responses() }

    private func collections() -> [Finding] {
        let collections = CollectionDirectory(data: directory.path)
        var findings: [Finding] = []
        do {
            findings = try collections.permissionProblems().map { Finding("permissions", .warning, $0) }
            let failures = try collections.visit { name, reader in
                let first = try reader.problems().first
                findings.append(
                    first.map {
                        Finding("collection", .broken, "\(name) is corrupt: \($0); move it away, and sync again")
                    } ?? Finding("collection", .ok, "\(name) is sound"))
            }
            return findings
                + failures.map { _, error in
                    Finding("collection", error.problem == .damaged ? .broken : .warning, "\(error)")
                }
        } catch {
            return findings + [Finding("collection", .warning, "\(error)")]
        }
    }

    private func responses() -> [Finding] {
        switch ResponseStore.condition(of: directory.cache) {
        case .missing: []
        case .sound(let count): [Finding("responses", .ok, "\(count) stored")]
        case .lost(let sentence): [Finding("responses", .note, sentence)]
        case .unreadable(let sentence): [Finding("responses", .warning, sentence)]
        }
    }
}
