internal import ArgumentParser
internal import Commands

/// `30/s`, `100/min`, or `none`.
enum StartRateArgument: ExpressibleByArgument {
    case none
    case rate(StartRate)

    init?(argument: String) {
        if argument == "none" {
            self = .none
        } else if let rate = StartRate(text: argument) {
            self = .rate(rate)
        } else {
            ArgumentForm.expect("\(StartRate.forms), or none")
            return nil
        }
    }

    var rate: StartRate? { if case .rate(let rate) = self { rate } else { nil } }
}
