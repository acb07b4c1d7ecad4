package import Commands
package import Console
internal import Glibc
internal import Host
package import Membership
package import NetworkControl
package import Settings
package import Store
package import Wire

/// The processes of a data directory, as their roles and the store show them, and the settings that concern them. Shards that
/// cannot be read are left out.
extension QueueAccess {
    /// Commands that are listed of each shard.
    private static let maxListed = 4096

    // MARK: Processes

    /// The coordinator that runs.
    package var coordinator: Holder? { presence.holder(of: .coordinator) }

    /// The door that runs.
    package var door: Holder? { presence.holder(of: .door) }

    /// The address of the pages of the door that runs; nil while it does not listen.
    package func doorURL() throws(StoreError) -> String? {
        guard door != nil else { return nil }
        return try store.settingsIfUsable(prefix: SettingKey.doorURL)[SettingKey.doorURL]
    }

    /// Tells other processes the address of the pages of the door.
    /// - Parameter url: nil while it does not listen.
    package func setDoorURL(_ url: String?) throws(StoreError) { try store.set(SettingKey.doorURL, to: url) }

    /// Whether the worker of a session lives. A coordinator that holds a seat is releasing the commands of the
    /// worker that died there.
    package func isAlive(_ session: Session) -> Bool {
        guard let holder = presence.holder(of: .worker(seat: session.seat)) else { return false }
        return holder.pid == nil || holder.pid != coordinator?.pid
    }

    /// Whether the control group of a session's worker is frozen, as far as this process sees it.
    func isFrozen(_ session: Session) -> Bool {
        session.bootID == ProcessIdentity.bootID && ProcessIdentity.startTime(of: session.pid) == session.startTime
            && ControlGroups(of: session.pid).isFrozen
    }

    /// The worker of a session, where it lives and makes no progress.
    func stalled(_ session: Session) -> StalledProcess? {
        stalled("worker \(session.seat)", .worker(seat: session.seat))
    }

    /// The workers with a session, by seat.
    package func workers() throws(StoreError) -> [WorkerReading] {
        let claimed = try store.claimed()
        var claims: [Int64: [Int]] = [:]
        var running: [Int64: [RunningCommand]] = [:]
        for (shard, rows) in claimed.enumerated() {
            for (index, row) in rows.enumerated() {
                claims[row.epoch, default: Array(repeating: 0, count: store.shardCount)][shard] += 1
                guard index < Self.maxListed else { continue }
                running[row.epoch, default: []].append(
                    RunningCommand(
                        id: row.id, type: row.type, qos: row.qos, destination: row.destination, since: row.updatedAt))
            }
        }
        let infos = try workerInfos()
        return try store.sessions().sorted { $0.seat < $1.seat }.map { session in
            let info = infos[session.seat].flatMap { $0.pid == session.pid ? $0 : nil }
            let isAlive = isAlive(session)
            let stalled = isAlive ? stalled(session) : nil
            var worker = WorkerReading(
                seat: session.seat, pid: session.pid,
                state: !isAlive
                    ? .lost
                    : isFrozen(session)
                        ? .frozen : stalled != nil ? .stalled : info?.isDraining == true ? .draining : .ready,
                concurrency: info?.concurrency,
                running: (running[session.epoch] ?? []).sorted { $0.since < $1.since })
            worker.stalled = stalled
            worker.types = info?.types
            worker.isLimited = info?.isLimited ?? false
            worker.claims = claims[session.epoch] ?? Array(repeating: 0, count: store.shardCount)
            return worker
        }
    }

    /// The settings that workers have stored about themselves, by seat.
    func workerInfos() throws(StoreError) -> [Int: WorkerInfo] {
        var infos: [Int: WorkerInfo] = [:]
        for (key, value) in try store.settingsIfUsable(prefix: SettingKey.workerPrefix) {
            guard let seat = Int(key.dropFirst(SettingKey.workerPrefix.count)) else { continue }
            infos[seat] = WorkerInfo(setting: value)
        }
        return infos
    }

    // MARK: Flows, batches, ordering keys, schedules

    /// A reading whose cost does not depend on the size of the store.
    package func relations() throws(StoreError) -> RelationOverview {
        var all = try store.relationOverview()
        all.batches = try batches()
        return all
    }

    private func batches() throws(StoreError) -> BatchOverview {
        let max = RelationOverview.maxCounted
        let open = try store.openBatches(limit: max + 1)
        var overview = BatchOverview()
        overview.count = min(open.count, max)
        overview.isComplete = open.count <= max
        for id in open.sorted(by: >).prefix(BatchOverview.maxShown) {
            if let batch = try store.batch(id) { overview.newest.append(batch) }
        }
        return overview
    }

    // MARK: Settings

    /// The pauses, by their keys.
    package func pauses() throws(StoreError) -> [Pause] {
        Pause.parse(try store.settingsIfUsable(prefix: SettingKey.pausePrefix))
    }

    /// The endpoints of webhooks that have been paused or have answered, by name.
    package func webhookEndpoints() throws(StoreError) -> [WebhookEndpointSetting] {
        WebhookEndpointSetting.parse(try store.settingsIfUsable(prefix: SettingKey.webhookPrefix))
    }

    /// The paused endpoints of webhooks, and why each is paused, in a sentence that ends with the remedy.
    package func pausedEndpoints() throws(StoreError) -> [(endpoint: WebhookEndpointSetting, sentence: String)] {
        try webhookEndpoints().compactMap { endpoint in
            endpoint.state.reason(endpoint.name).map {
                (endpoint, "\($0); “\(WebhookEndpointState.remedy(endpoint.name))” lets its messages go on")
            }
        }
    }

    /// Links that a person holds offline or limits, by destination.
    package func overrides() throws(StoreError) -> [Destination: LinkOverrideSetting] {
        LinkOverrideSetting.parse(try store.settingsIfUsable(prefix: SettingKey.networkPrefix))
    }

    /// The links as the last coordinator left them.
    package func storedLinks() throws(StoreError) -> StoredLinks {
        StoredLinks(settings: try store.settingsIfUsable(prefix: SettingKey.linkPrefix))
    }

    /// - Parameter names: of the links (`LinkKey.name`); nil: every link.
    func storedLinks(named names: [String]?) throws(StoreError) -> StoredLinks {
        guard let names else { return try storedLinks() }
        var settings: [String: String] = [:]
        for name in names {
            for direction in Direction.allCases {
                let key = SettingKey.link(direction, name)
                settings[key] = try store.settingsIfUsable(prefix: key)[key]
            }
        }
        return StoredLinks(settings: settings)
    }

    // MARK: Sockets

    /// The endpoint of events for other programs.
    package func eventsEndpoint(coordinator: Holder) -> String? {
        endpoints.address(of: .events, at: coordinator)
    }
}

extension QueueAccess {
    /// The workers, and the names and the progress of their commands.
    /// - Parameters:
    ///   - collector: has the progress of events; that of other commands is forgotten.
    ///   - descriptions: of earlier readings.
    package func workers(
        _ collector: WatchCollector, _ descriptions: inout RunningDescriptions
    ) throws(StoreError) -> [WorkerReading] {
        var workers = try workers()
        let ids = Set(workers.flatMap { $0.running.map(\.id) })
        collector.keepProgress(of: ids)
        defer { descriptions.keep(ids) }
        for worker in workers.indices {
            for command in workers[worker].running.indices {
                let id = workers[worker].running[command].id
                workers[worker].running[command].progress = collector.progress(of: id) ?? CommandProgress()
            }
            try descriptions.describe(&workers[worker].running, store)
        }
        return workers
    }
}

/// The names and sizes of the commands that workers execute. Each command is read once, because workers are
/// read every second.
package struct RunningDescriptions {
    private struct Description {
        var name: String?
        var offset: Int64
        var total: Int64
    }

    private var known: [CommandID: Description] = [:]
    /// Commands of a worker that a screen can show.
    private static let maxShown = 200

    package init() {}

    /// Adds names, and sizes where no event told them.
    package mutating func describe(_ commands: inout [RunningCommand], _ store: any CommandStore) throws(StoreError) {
        for index in commands.indices.prefix(Self.maxShown) {
            let id = commands[index].id
            if known[id] == nil {
                let command = try store.command(id)
                let name = try store.payload(id).flatMap { CommandSubject(payload: $0)?.name }
                known[id] = Description(name: name, offset: command?.offset ?? 0, total: command?.total ?? 0)
            }
            guard let description = known[id] else { continue }
            commands[index].name = description.name
            if commands[index].progress.total == 0, description.total > 0 {
                commands[index].progress.total = description.total
                commands[index].progress.offset = max(commands[index].progress.offset, description.offset)
            }
        }
    }

    /// Forgets commands that no longer run.
    package mutating func keep(_ ids: Set<CommandID>) { known = known.filter { ids.contains($0.key) } }
}

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
