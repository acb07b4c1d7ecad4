internal import ArgumentParser

enum YesNo: String, ExpressibleByArgument, CaseIterable {
    case yes, no
}
