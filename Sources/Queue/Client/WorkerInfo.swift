internal import Commands
internal import Glibc
internal import Host
package import Store
package import Wire

/// The setting that a worker stores about itself, for `explain` and `status`, which need no coordinator:
/// `worker.<seat>` =
/// `{"pid": 1, "concurrency": 16, "types": ["noop"], "limited": false, "draining": false}`.
package struct WorkerInfo: Sendable, Equatable {
    package var pid: Int32
    package var concurrency: Int
    package var types: [String]
    /// It executes fewer types than its configuration has (`--types`), or operations of another program.
    package var isLimited = false
    /// It takes no new command, and ends when its commands have ended.
    package var isDraining: Bool

    package init(pid: Int32, concurrency: Int, types: [String], isDraining: Bool = false) {
        self.pid = pid
        self.concurrency = concurrency
        self.types = types
        self.isDraining = isDraining
    }

    /// Nil for a value of another form.
    package init?(setting: String) {
        guard let value = try? JSONValue(parsing: Array(setting.utf8)),
            let pid = value["pid"]?.integer.flatMap({ Int32(exactly: $0) }),
            let concurrency = value["concurrency"]?.integer.flatMap({ Int(exactly: $0) }),
            let types = value["types"]?.elements
        else { return nil }
        self.init(
            pid: pid, concurrency: concurrency, types: types.compactMap(\.string),
            isDraining: value["draining"] == .bool(true))
        isLimited = value["limited"] == .bool(true)
    }

    package var setting: String {
        JSONValue.object([
            .init("pid", .integer(Int64(pid))), .init("concurrency", .integer(Int64(concurrency))),
            .init("types", .array(types.map { .string($0) })), .init("limited", .bool(isLimited)),
            .init("draining", .bool(isDraining)),
        ]).text
    }

    /// Whether a process has been ready as a worker, as far as the store says.
    package static func isReady(_ pid: Int32, in store: any CommandStore) -> Bool {
        let settings = try? store.settings(prefix: SettingKey.workerPrefix)
        return settings?.values.contains { WorkerInfo(setting: $0)?.pid == pid } ?? false
    }

    /// Stores the setting of this process, on another thread because a worker is ready before that.
    /// Without the setting, `explain` and `status` show less.
    package static func store(
        seat: Int, phase: WorkerState.Phase, concurrency: Int, types: [String], isLimited: Bool,
        in store: any CommandStore
    ) {
        var info = WorkerInfo(pid: getpid(), concurrency: concurrency, types: types, isDraining: phase == .draining)
        info.isLimited = isLimited
        let setting = info.setting
        BlockingPool.shared.perform { try? store.set(SettingKey.worker(seat: seat), to: setting) }
    }
}
