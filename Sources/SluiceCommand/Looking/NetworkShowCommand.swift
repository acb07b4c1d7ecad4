internal import ArgumentParser
internal import Commands
internal import Console
internal import NetworkControl
internal import Queue

struct NetworkShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show links and what holds them back (the default).")

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var links: LinkOptions

    func run() async throws {
        let queue = try data.queue()
        let source = LinkSource(queue)
        let overview = try await source.overview(limit: print.json ? nil : links.limit)
        if print.json {
            for link in overview.shown { Output.line(link.json.bytes) }
        } else if overview.count == 0 {
            Output.line("no link is known: nothing was sent yet")
        } else {
            let lines =
                Output.isTerminal
                ? LinkRows.blocks(overview, columns: Terminal.size.columns) : LinkRows.table(overview)
            for line in lines { Output.line(line) }
        }
        try data.warn(of: queue)
    }
}
