internal import ArgumentParser
internal import Commands
internal import Console
internal import NetworkControl
internal import Operations

enum YesNo: String, ExpressibleByArgument, CaseIterable {
    case yes, no
}
