import Commands
import Host
import NetworkControl
import Store
import Testing
import Wire

@testable import Coordination

@Suite struct LinkAdmissionTests {
    private let host = Destination(scheme: "http", host: "a", port: 80)

    private func transfer(_ id: CommandID, _ qos: QualityOfService, acknowledged: Int64) -> TransferReport.Transfer {
        var transfer = TransferReport.Transfer(id: id, claim: 7, link: 0, qos: qos)
        transfer.isIdempotent = true
        transfer.acknowledged = acknowledged
        transfer.offset = acknowledged
        transfer.total = 1 << 30
        transfer.roundTrip = .milliseconds(50)
        transfer.minRoundTrip = .milliseconds(50)
        return transfer
    }

    /// Low transfers that fill a link of 2.5 MB/s for some seconds, and the commands that wait behind them.
    private func busy(
        _ admission: inout LinkAdmission, _ ids: [CommandID], _ direction: Direction = .up, seconds: Int64
    ) -> MonotonicTime {
        var now = MonotonicTime.zero
        for beat in 1...(4 * seconds) {
            now = .zero + .milliseconds(250 * beat)
            let share = beat * 625_000 / Int64(ids.count)
            let link = TransferReport.Link(
                destination: host, direction: direction, bytes: [0, 0, share * Int64(ids.count)], rate: 2_500_000,
                inFlight: ids.count, roundTrip: .milliseconds(50))
            let report = TransferReport(
                links: [link], transfers: ids.map { transfer($0, .utility, acknowledged: share) })
            admission.report(report, worker: 1, now: now)
            admission.tick(waiting: [:], minuteOfDay: 0, now: now)
        }
        return now
    }

    private func ready(
        _ id: CommandID, _ qos: QualityOfService, type: String = "upload", remaining: Int64? = nil
    ) -> ReadyCommand {
        var command = ReadyCommand(id: id, type: type, qos: qos, destination: host, turn: 1, createdAt: .zero)
        command.remaining = remaining
        return command
    }

    /// A host whose destinations have routes of their own needs no default route. A new coordinator is told of the
    /// lost default route before it knows the route of a name.
    @Test func `a destination is not offline with the default route before its own route is known`() {
        let (key, lost) = (LinkKey(host, .up), LinkReason(.noDefaultRoute))
        for route in [Route.uplink("v0"), .uplink("")] {
            var admission = LinkAdmission()
            admission.restore(LinkHistory(reference: 0, flows: 1, limit: 4, offline: nil), of: key, now: .zero)
            admission.override(host, LinkOverride(maxRate: 1_000_000), now: .zero)
            admission.uplinkLost("", reason: lost, now: .zero)
            admission.tick(waiting: [:], minuteOfDay: 0, now: .zero)
            #expect(admission.controller.level(of: key) != .offline)
            #expect(admission.load(host, .default, now: .zero).availability == .available)
            #expect(admission.paces.count { $0.group == Offers.group(of: host) } == 10)
            admission.routed(host, route, now: .zero)
            admission.tick(waiting: [:], minuteOfDay: 0, now: .zero + .seconds(1))
            #expect((admission.controller.level(of: key) == .offline) == (route == .uplink("")))
        }
    }

    @Test func `a destination that takes another way is not offline with the uplink that it left`() {
        for isLoss in [false, true] {
            var (admission, key) = (LinkAdmission(), LinkKey(host, .up))
            admission.restore(LinkHistory(reference: 0, flows: 1, limit: 4, offline: nil), of: key, now: .zero)
            admission.uplinksChanged([], [host: .uplink("")], now: .zero)
            let lost = UplinkState.Change.lost(name: "", reason: LinkReason(.noDefaultRoute))
            admission.uplinksChanged([lost], isLoss ? [:] : [host: .uplink("v0")], now: .zero + .seconds(1))
            admission.tick(waiting: [:], minuteOfDay: 0, now: .zero + .seconds(1))
            #expect((admission.controller.level(of: key) == .offline) == isLoss)
        }
    }

    @Test func `low transfers stand still before high quality has sent a byte`() {
        var admission = LinkAdmission()
        let low = (0..<4).map { _ in CommandID() }
        let now = busy(&admission, low, seconds: 8)
        #expect(admission.controller.level(of: LinkKey(host, .up)) == .good)
        #expect(admission.paces.isEmpty)
        admission.offered(ready(CommandID(), .userInitiated), now: now)
        let isUrgent = admission.takeUrgent()
        #expect(isUrgent, "workers hear of it at once")
        let again = admission.takeUrgent()
        #expect(!again)
        let pace = admission.paces.first { $0.qos == .utility && $0.group == Offers.group(of: host) }
        #expect(pace?.bytesPerSecond ?? .max < 2_500_000 / 4 / 4)
        #expect(admission.paces.allSatisfy { $0.qos.serviceClass != .high })
    }

    @Test func `high quality stops low where sharing would cost it more than is tolerable`() {
        // Beside four transfers at 20 Mbit/s, 10 kB lose 16 ms and 100 kB 160 ms.
        let cases: [([Int64?], Bool)] = [
            ([10_000], false), ([10_000, 10_000], false), ([2_500_000], true), ([nil], true), ([10_000, nil], true),
            ([nil, 10_000], true), ([100_000, 250_000], true), ([2_500_000, 10_000], true),
            ([Int64.max, Int64.max], true),
        ]
        for (commands, stops) in cases {
            var admission = LinkAdmission()
            let now = busy(&admission, (0..<4).map { _ in CommandID() }, seconds: 8)
            for remaining in commands {
                admission.offered(ready(CommandID(), .userInitiated, remaining: remaining), now: now)
            }
            let isUrgent = admission.takeUrgent()
            #expect(isUrgent == stops, "\(commands)")
            #expect(admission.paces.isEmpty == !stops, "\(commands)")
            #expect(admission.paces.contains { $0.qos == .utility && $0.bytesPerSecond == 0 } == stops, "\(commands)")
        }
    }

    @Test func `low downloads stand still before a download of high quality has received a byte`() {
        var admission = LinkAdmission()
        let now = busy(&admission, (0..<4).map { _ in CommandID() }, .down, seconds: 8)
        #expect(admission.controller.level(of: LinkKey(host, .down)) == .good)
        admission.offered(ready(CommandID(), .userInitiated), now: now)
        let isUrgentForUpload = admission.takeUrgent()
        #expect(!isUrgentForUpload, "an upload goes the other way")
        admission.offered(ready(CommandID(), .userInitiated, type: "download"), now: now)
        let isUrgent = admission.takeUrgent()
        #expect(isUrgent)
        let pace = admission.paces.first { $0.qos == .utility && $0.direction == .down }
        #expect(pace?.bytesPerSecond ?? .max < 2_500_000 / 4 / 4)
    }

    @Test func `downloads are admitted by the link down, and a destination of both ways by the lower bounds`() {
        var policy = NetworkPolicy()
        policy.good[.utility] = .pause
        var admission = LinkAdmission(policy: policy)
        admission.register(host, .down, now: .zero)
        let unknown = admission.load(host, .utility, now: .zero).allowance
        #expect(unknown.blocked.isEmpty)
        let now = busy(&admission, (0..<4).map { _ in CommandID() }, .down, seconds: 8)
        let down = admission.load(host, .utility, now: now).allowance
        #expect(down.level == .good && down.blocked.contains(.utility))
        var both = admission
        both.register(host, .up, now: now)
        let lower = both.load(host, .utility, now: now).allowance
        #expect(lower.blocked == down.blocked && lower.limit <= down.limit)
        #expect(lower.limit <= both.controller.firstAllowance(of: LinkKey(host, .up)).limit)
        // An upload elsewhere is not bounded by it.
        let other = Destination(scheme: "http", host: "b", port: 80)
        admission.register(other, .up, now: now)
        #expect(admission.load(other, .utility, now: now).allowance.blocked.isEmpty)
    }

    @Test func `a pause within an answer is not an outage, and received bytes end one`() throws {
        var admission = LinkAdmission()
        let ids = [CommandID()]
        let now = busy(&admission, ids, .down, seconds: 2)
        let link = TransferReport.Link(
            destination: host, direction: .down, bytes: [0, 0, 5_000_000], inFlight: 1, roundTrip: .milliseconds(50))
        let stalled = TransferReport(links: [link], transfers: [transfer(ids[0], .utility, acknowledged: 5_000_000)])
        for beat in 1...40 {
            let then = now + .milliseconds(250 * beat)
            admission.report(stalled, worker: 1, now: then)
            admission.tick(waiting: [:], minuteOfDay: 0, now: then)
        }
        #expect(admission.load(host, .utility, now: now + .seconds(10)).availability == .available)

        var offline = LinkAdmission()
        for number in 0..<3 {
            var transition = Transition(seq: 1, id: CommandID(), status: .new, at: .zero, claim: 1, reason: "refused")
            transition.seat = 0
            let event = StatusEvent(
                transition: transition, type: "download", qos: .utility, destination: host, retries: 0, shard: number)
            offline.ended(StatusReport(event: event, fault: .link), now: .zero)
        }
        #expect(offline.load(host, .utility, now: .zero).availability == .offline)
        let later = busy(&offline, ids, .down, seconds: 1)
        #expect(offline.load(host, .utility, now: later).availability == .available)
    }

    @Test func `an order finds its execution by the claim that was reported`() {
        var policy = NetworkPolicy()
        policy.good[.utility] = .cancel
        var admission = LinkAdmission(policy: policy)
        let low = CommandID()
        _ = busy(&admission, [low], seconds: 3)
        #expect(admission.orders.map(\.target) == [CommandClaim(id: low, claim: 7)])
        #expect(admission.orders.first?.verb == .cancel)
        let reason = admission.orders.first?.reason ?? ""
        #expect(reason == "http://a:80 is good")
    }

    @Test func `an order does not outlive its execution`() {
        var policy = NetworkPolicy()
        policy.good[.utility] = .cancel
        var admission = LinkAdmission(policy: policy)
        let low = CommandID()
        let now = busy(&admission, [low], seconds: 3)
        #expect(admission.orders.map(\.target.claim) == [7])
        var next = transfer(low, .utility, acknowledged: 0)
        next.claim = 8
        let link = TransferReport.Link(destination: host, direction: .up, bytes: [0, 0, 7_500_000], inFlight: 1)
        admission.report(TransferReport(links: [link], transfers: [next]), worker: 1, now: now + .nanoseconds(1))
        #expect(admission.orders.isEmpty, "no order means the next execution yet")
        next.claim = 7
        admission.report(TransferReport(links: [link], transfers: [next]), worker: 2, now: now + .nanoseconds(2))
        #expect(admission.orders.isEmpty, "a late report of the former execution")
    }

    @Test func `a destination that a person holds offline takes no command, also before it is known`() {
        var admission = LinkAdmission()
        admission.override(host, LinkOverride(isOffline: true), now: .zero)
        for qos in QualityOfService.allCases {
            #expect(admission.load(host, qos, now: .zero).availability == .heldOffline)
        }
        admission.override(host, LinkOverride(), now: .zero)
        for qos in QualityOfService.allCases {
            #expect(admission.load(host, qos, now: .zero).availability == .available)
        }
    }

    @Test func `a push-back of the destination lowers its limit and leaves the link's level alone`() {
        var admission = LinkAdmission()
        let low = (0..<4).map { _ in CommandID() }
        let now = busy(&admission, low, seconds: 8)
        #expect(admission.load(host, .utility, now: now).allowance.pushback == nil)
        var transition = Transition(seq: 1, id: low[0], status: .new, at: .zero, claim: 7, reason: "answered 503")
        transition.seat = 0
        let event = StatusEvent(
            transition: transition,
            type: "upload", qos: .utility, destination: host, retries: 0, shard: 0)
        admission.ended(StatusReport(event: event, fault: .link, isPushback: true), now: now)
        admission.tick(waiting: [:], minuteOfDay: 0, now: now)
        #expect(admission.load(host, .utility, now: now).allowance.pushback == 3, "four were in flight")
        #expect(admission.controller.state(of: LinkKey(host, .up), now: now)?.level == .good)
    }

    @Test func `an offline link is restored from its setting`() throws {
        var admission = LinkAdmission()
        let now = busy(&admission, [CommandID()], seconds: 8)
        let key = LinkKey(host, .up)
        let state = try #require(admission.controller.state(of: key, now: now))
        let memory = try #require(admission.controller.history(of: key, now: now))
        let clock = { (_: MonotonicTime) in Timestamp(milliseconds: 5) }
        var report = LinkReport(state, clock: clock)
        report.gates[.background] = LinkWaitReason(
            link: key.name, level: .good, verb: .pause, reason: LinkReason(.hours, measured: 720), since: after(1)
        ).map(clock)
        let gate = JSONValue.object(report.members)["gates"]?["background"]
        #expect(gate?["verb"] == "pause" && gate?["since"] == "1970-01-01T00:00:00.005Z")
        #expect(gate?["reason"]?["rule"] == "hours" && gate?["reason"]?["measured"]?.integer == 720)
        let name = StoredLink.settingKey(key)
        #expect(name == "link.up.http://a:80")
        let stored = try #require(StoredLink(setting: name, value: StoredLink.setting(report, memory)))
        #expect(stored.key == key)
        #expect(stored.memory.flows == memory.flows)
        #expect(stored.memory.limit == memory.limit)
        #expect(abs(stored.memory.reference - memory.reference) < 1)
        #expect(stored.memory.offline == nil)
        #expect(stored.memory.level == .good)
        var next = LinkAdmission()
        next.restore(stored.memory, of: key, now: .zero)
        #expect(next.controller.level(of: key) == .good, "known before the first transfer")
        #expect(next.controller.state(of: key, now: .zero)?.reason.rule == state.reason.rule)

        var offline = state
        offline.level = .offline
        offline.limit = 0
        offline.reason = .failures("refused", count: 3)
        let lost = LinkReport(offline, clock: clock)
        let found = try #require(StoredLink(setting: name, value: StoredLink.setting(lost, nil)))
        #expect(found.memory.offline == offline.reason)
        // The link went offline before this coordinator started.
        var long = lost
        long.since = Timestamp(milliseconds: 3)
        #expect(
            StoredLink(setting: name, value: StoredLink.setting(long, nil))?.offlineSince == Timestamp(milliseconds: 3))
        let kept = StoredLink(setting: name, value: StoredLink.setting(lost, memory))
        #expect(kept?.memory.limit == memory.limit, "not what an offline link lets run")
        #expect(found.offlineSince == Timestamp(milliseconds: 5))
        #expect(
            StoredLink(setting: "link.up.*", value: StoredLink.setting(lost, nil))?.key == LinkKey(.uplink(""), .up))
        let late = Timestamp.now + .seconds(600)
        #expect(StoredLink(setting: name, value: StoredLink.setting(lost, nil), now: late)?.memory.level == nil)
        // The host was off for a year, in which no command tried to reach it. A minute may pass between two
        // settings.
        let year = Duration.seconds(365 * 86_400)
        let resumed = try #require(
            StoredLink(setting: name, value: StoredLink.setting(long, nil), now: .now + year)?.offlineSince)
        let moved = resumed - Timestamp(milliseconds: 3)
        #expect(moved > year - .seconds(70) && moved < year - .seconds(50))
        // Version 0.1.0 stored sentences, and times in milliseconds.
        let old =
            #"{"writtenAt":\#(Timestamp.now.milliseconds),"level":"offline","reason":"refused","remedy":"a probe","since":5,"forced":false}"#
        let sentence = try #require(StoredLink(setting: name, value: old))
        #expect(sentence.memory.offline == .recorded("refused"))
        #expect(sentence.offlineSince == Timestamp(milliseconds: 5))
        for value in ["", "{", "[]", "7"] { #expect(StoredLink(setting: "link.sideways.x", value: value) == nil) }
    }
}

extension StoredLink {
    /// The setting as a coordinator writes it now.
    static func setting(_ report: LinkReport, _ memory: LinkHistory?) -> String { setting(report, memory, now: .now) }

    /// The setting as a coordinator reads it now.
    init?(setting key: String, value: String) { self.init(setting: key, value: value, now: .now) }
}
