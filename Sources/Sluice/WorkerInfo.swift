internal import Commands
internal import Glibc
internal import Host
package import Store
package import Wire

/// What a worker leaves in the settings about itself, so that `explain` and `status` can tell of it, also without a
/// coordinator: `worker.<seat>` =
/// `{"pid": 1, "concurrency": 16, "types": ["noop"], "draining": false}`.
package struct WorkerInfo: Sendable, Equatable {
    package var pid: Int32
    package var concurrency: Int
    package var types: [String]
    /// It takes nothing new and ends when it has finished what it runs.
    package var isDraining: Bool

    package init(pid: Int32, concurrency: Int, types: [String], isDraining: Bool = false) {
        self.pid = pid
        self.concurrency = concurrency
        self.types = types
        self.isDraining = isDraining
    }

    /// Nil for what is no card.
    package init?(setting: String) {
        guard let value = try? JSONValue(parsing: Array(setting.utf8)),
            let pid = value["pid"]?.integer.flatMap({ Int32(exactly: $0) }),
            let concurrency = value["concurrency"]?.integer.flatMap({ Int(exactly: $0) }),
            let types = value["types"]?.elements
        else { return nil }
        self.init(
            pid: pid, concurrency: concurrency, types: types.compactMap(\.string),
            isDraining: value["draining"] == .bool(true))
    }

    package var setting: String {
        JSONValue.object([
            .init("pid", .integer(Int64(pid))), .init("concurrency", .integer(Int64(concurrency))),
            .init("types", .array(types.map { .string($0) })), .init("draining", .bool(isDraining)),
        ]).text
    }

    /// Leaves the card of this process, on a thread of its own: a worker is ready before that. Where it cannot be left,
    /// `explain` and `status` know less.
    package static func leave(
        seat: Int, phase: WorkerState.Phase, concurrency: Int, types: [String], in store: any CommandStore
    ) {
        let card = WorkerInfo(pid: getpid(), concurrency: concurrency, types: types, isDraining: phase == .draining)
        startThread(named: "sluice-card") { try? store.set(SettingKey.worker(seat: seat), to: card.setting) }
    }
}
