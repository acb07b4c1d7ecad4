public import ArgumentParser
public import Commands

extension CommandIDPart: ExpressibleByArgument {
    public init?(argument: String) {
        guard let part = Self(argument) else {
            ArgumentForm.expect("a UUID, or at least \(Self.minDigits) of its digits")
            return nil
        }
        self = part
    }
    public static var defaultCompletionKind: CompletionKind { .default }
}

extension QualityOfService: ExpressibleByArgument {
    public init?(argument: String) { self.init(name: argument) }
    public static var allValueStrings: [String] { allCases.map(\.name) }
    // Otherwise help lists the names once more, each with an empty description.
    public static var allValueDescriptions: [String: String] { [:] }
    public static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
    public var defaultValueDescription: String { name }
}

extension CommandStatus: ExpressibleByArgument {
    public init?(argument: String) {
        guard let status = Self(option: argument) else {
            ArgumentForm.suggestion = Self.suggestion(for: argument)
            return nil
        }
        self = status
    }
    public static var allValueStrings: [String] { allCases.map { $0 == .tooManyTimes ? "gaveUp" : $0.name } }
    public static var allValueDescriptions: [String: String] { [:] }
    public static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
    public var defaultValueDescription: String { name }
}
