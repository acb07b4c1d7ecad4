/// Why a time zone cannot be used.
package struct TimeZoneError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Reason: Sendable, Equatable {
        /// The text cannot be a name, so that no file was looked for.
        case malformedName
        /// There is no file of this name.
        case missing
        /// The file exists and cannot be read or used.
        case unusable
    }

    package var name: String
    package var reason: Reason
    /// The problem and the remedy in a sentence: `cannot find the time zone “X” in /usr/share/zoneinfo: …`.
    package var description: String
}
