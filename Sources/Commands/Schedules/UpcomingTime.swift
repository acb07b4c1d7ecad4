/// A coming time of a schedule, for people.
package struct UpcomingTime: Hashable, Sendable {
    package var time: ScheduledTime
    /// Seconds that the zone is east of Greenwich at the nominal time.
    package var offset: Int64
    /// A peculiarity of the local time, for example `02:30 does not exist that day`; nil without one.
    package var note: String?
}
