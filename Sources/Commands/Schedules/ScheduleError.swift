/// Why a text or a JSON value does not define a schedule.
package struct ScheduleError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The name of the schedule; nil where it is not known.
    package var schedule: String?
    /// The key with the problem; nil where the problem is that of the whole.
    package var key: String?
    /// A sentence without a full stop at its end.
    package var problem: String

    package init(schedule: String?, key: String? = nil, _ problem: String) {
        self.schedule = schedule
        self.key = key
        self.problem = problem
    }

    /// `schedule “nightly”, key “zone”: …`
    package var description: String {
        let subject = schedule.map { "schedule “\(Self.short($0))”" } ?? "a schedule"
        return key.map { "\(subject), key “\(Self.short($0))”: \(problem)" } ?? "\(subject): \(problem)"
    }

    /// At most 80 bytes of a text from outside.
    static func short(_ text: String) -> String { String(decoding: text.utf8.prefix(80), as: UTF8.self) }
}
