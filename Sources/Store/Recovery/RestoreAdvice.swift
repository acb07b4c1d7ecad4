/// The remedy for a shard that is missing, damaged or another file, for the end of an error message.
package enum RestoreAdvice {
    package static func shard(_ number: Int) -> String {
        "stop every process on this data directory, then run “sluice restore DIR --shard \(number)” with the directory of "
            + "a backup"
    }

    static let store =
        "stop every process on this data directory, then run “sluice restore DIR” with the directory of a backup"
}
