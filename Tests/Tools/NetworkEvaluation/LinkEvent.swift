import Commands
import Foundation
import Host
import Sluice

/// A link event of the coordinator.
struct LinkEvent {
    var at: MonotonicTime
    var link: String
    var level: String
    var limit: Int?
    /// The goodput in bytes per second.
    var goodput: Double?

    init?(_ event: SluiceEvent, _ moment: (Timestamp) -> MonotonicTime) {
        guard event.kind == "link", let level = event.body["level"]?.string,
            let at = event.body["at"]?.string.flatMap(Self.time), event.body["direction"]?.string != "down"
        else { return nil }
        self.at = moment(at)
        link = String(event.subject)
        self.level = level
        limit = event.body["limit"]?.integer.map { Int($0) }
        goodput = event.body["goodput"]?.double
    }

    private static func time(_ text: String) -> Timestamp? {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return (try? style.parse(text)).map {
            Timestamp(milliseconds: Int64(($0.timeIntervalSince1970 * 1000).rounded()))
        }
    }
}
