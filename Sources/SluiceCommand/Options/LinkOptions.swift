internal import ArgumentParser
internal import Console

/// How many links are shown.
struct LinkOptions: ParsableArguments {
    @Flag(name: .long, help: "Show every link, not only the twenty that matter most.")
    var all = false

    /// Of links shown; nil shows every link.
    var limit: Int? { all ? nil : LinkOverview.maxShown }
}
