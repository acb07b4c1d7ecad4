internal import ArgumentParser
internal import Commands

/// Commands at the same time, or `none`.
enum AtOnceArgument: ExpressibleByArgument {
    case none
    case commands(Int)

    init?(argument: String) {
        if argument == "none" {
            self = .none
        } else if let count = Int(argument), (1...RateLimit.maxAtOnce).contains(count) {
            self = .commands(count)
        } else {
            ArgumentForm.expect("a number from 1 to \(RateLimit.maxAtOnce), or none")
            return nil
        }
    }

    var count: Int? { if case .commands(let count) = self { count } else { nil } }
}
