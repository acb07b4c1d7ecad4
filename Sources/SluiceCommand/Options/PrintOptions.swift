internal import ArgumentParser

/// `--json`, for everything that prints.
struct PrintOptions: ParsableArguments {
    @Flag(name: .long, help: "Print JSON, one object a line, with stable keys.")
    var json = false
}
