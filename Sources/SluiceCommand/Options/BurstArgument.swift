internal import ArgumentParser
internal import Commands

/// Starts in one moment, or `default`.
enum BurstArgument: ExpressibleByArgument {
    case byRate
    case starts(Int)

    init?(argument: String) {
        if argument == "default" {
            self = .byRate
        } else if let count = Int(argument), (1...StartRate.maxBurst).contains(count) {
            self = .starts(count)
        } else {
            ArgumentForm.expect("a number from 1 to \(StartRate.maxBurst), or default")
            return nil
        }
    }

    var count: Int? { if case .starts(let count) = self { count } else { nil } }
}
