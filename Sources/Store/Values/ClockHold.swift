package import Commands
package import Host

/// The time after a jump of the wall clock, in which ages and deadlines are not trusted: no process deletes, cancels by a
/// deadline or frees a unique key.
///
/// The coordinator writes it into the setting ``SettingKey/clockHold``. It ends by the monotonic clock, because the wall
/// clock may jump again.
package struct ClockHold: Sendable, Hashable {
    package enum Cause: Sendable, Hashable {
        /// The wall clock jumped by this.
        case jump(Duration)
        /// A coordinator started while the wall clock showed a time before the newest transition in the store, or more
        /// than a day after it.
        case start(wall: Timestamp, newest: Timestamp)
    }

    package var cause: Cause
    /// The boot of the machine, whose monotonic clock ``end`` is of.
    package var boot: String
    package var end: MonotonicTime

    /// From the last jump on.
    package static let duration: Duration = .seconds(300)
    /// A smaller step is trusted at once.
    package static let maxStep: Duration = .seconds(10)
    /// A start longer after the newest change in the store is not trusted at once.
    package static let maxIdleTime: Duration = .seconds(86_400)

    package init(_ cause: Cause, boot: String = ProcessIdentity.bootID, now: MonotonicTime) {
        self.cause = cause
        self.boot = boot
        end = now + Self.duration
    }

    /// After a jump of the wall clock.
    /// - Returns: nil after a step that is small enough.
    package init?(after jump: Duration, now: MonotonicTime) {
        guard max(jump, .zero - jump) > Self.maxStep else { return nil }
        self.init(.jump(jump), now: now)
    }

    /// At the start of a coordinator.
    /// - Parameters:
    ///   - newest: the time of the newest transition in the store; nil where there is none.
    ///   - wall: the clock of the store.
    /// - Returns: nil for a clock that fits the store.
    package init?(atStart newest: Timestamp?, wall: Timestamp, now: MonotonicTime) {
        guard let newest, !(.zero - Self.maxStep...Self.maxIdleTime).contains(wall - newest) else { return nil }
        self.init(.start(wall: wall, newest: newest), now: now)
    }

    /// Whether the hold is in force. One of another boot is not: the coordinator decides at its start.
    package func stands(boot: String = ProcessIdentity.bootID, now: MonotonicTime) -> Bool {
        self.boot == boot && now < end
    }
}

extension ClockHold {
    /// `{"jump":691200000,"boot":"…","end":…}`, in milliseconds, of the monotonic clock for the end; or
    /// `{"wall":"2026-03-29T01:00:00.000Z","newest":"…",…}`.
    package var json: JSONValue {
        let cause: [JSONValue.Member] =
            switch cause {
            case .jump(let jump): [.init("jump", .integer(jump.milliseconds))]
            case .start(let wall, let newest):
                [.init("wall", .string(wall.description)), .init("newest", .string(newest.description))]
            }
        return .object(
            cause + [.init("boot", .string(boot)), .init("end", .integer(end.nanoseconds / 1_000_000))])
    }

    /// Reads ``json`` back; nil for anything else.
    package init?(setting: String) {
        guard let value = try? JSONValue(parsing: setting.utf8), let boot = value["boot"]?.string,
            let end = value["end"]?.integer
        else { return nil }
        if let jump = value["jump"]?.integer {
            cause = .jump(.milliseconds(jump))
        } else {
            guard let wall = value["wall"]?.timestamp, let newest = value["newest"]?.timestamp else { return nil }
            cause = .start(wall: wall, newest: newest)
        }
        self.boot = boot
        self.end = .zero + .milliseconds(end)
    }
}

extension SettingStore {
    /// The hold that the coordinator has written and that is in force; nil without one, and where the first shard, which has
    /// the settings, is unusable: the other shards go on.
    package func clockHold(now: MonotonicTime = .now) throws(StoreError) -> ClockHold? {
        do throws(StoreError) {
            let hold = try setting(SettingKey.clockHold).flatMap { ClockHold(setting: $0) }
            return hold.flatMap { $0.stands(now: now) ? $0 : nil }
        } catch {
            guard error.code.makesShardUnusable else { throw error }
            return nil
        }
    }
}
