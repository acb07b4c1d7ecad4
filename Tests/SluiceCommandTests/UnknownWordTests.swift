import ArgumentParser
import Testing

@testable import SluiceCommand

/// Words of the command line that are not known: each sentence names the one that is probably meant.
@Suite struct UnknownWordTests {
    @Test(arguments: [
        (["putt", "a.mov"], "“putt” is not a subcommand; is it “sluice put”?"),
        (["statsu"], "“statsu” is not a subcommand; is it “sluice status”?"),
        (["ls", "--status", "error"], "“ls” is not a subcommand; is it “sluice list”?"),
        (["rm", "1c2d4e5f"], "“rm” is not a subcommand; is it “sluice cancel”?"),
        (["schedule", "lst"], "“lst” is not a subcommand of “sluice schedule”; is it “sluice schedule list”?"),
        (["limit", "ls"], "“ls” is not a subcommand of “sluice limit”; is it “sluice limit list”?"),
        (["weather"], "“weather” is not a subcommand"),
    ])
    func `an unknown subcommand suggests the one that is meant`(_ arguments: [String], _ sentence: String) {
        #expect(UnknownSubcommand.sentence(about: arguments) == sentence)
    }

    @Test(arguments: [
        ["list"], ["--help"], ["help", "put"], ["schedule", "list"], ["flow", "1c2d4e5f"], ["network"], [],
        ["config", "check"], ["batch", "4e5f1c2d"],
    ])
    func `subcommands and their arguments are not taken for unknown ones`(_ arguments: [String]) {
        #expect(UnknownSubcommand.sentence(about: arguments) == nil)
    }

    @Test(arguments: [
        (["list", "--stauts", "error"], "Unknown option '--stauts'. Did you mean '--status'?"),
        (["put", "a", "--priority", "high"], "Unknown option '--priority'. Did you mean '--qos'?"),
        (["list", "--dir", "x"], "Unknown option '--dir'. Did you mean '--data'?"),
        (
            ["schedule", "put", "n", "--cron", "* * * * *"],
            "Unknown option '--cron'; the cron expression is the second argument, in quotes"
        ),
        (["list", "--weather"], "Unknown option '--weather'"),
    ])
    func `an unknown option suggests the one that is meant`(_ arguments: [String], _ sentence: String) {
        #expect(UnknownOption.sentence(about: arguments) == sentence)
    }

    @Test func `the records of a sync have one word, and the word of earlier payloads stays`() throws {
        for option in ["--records", "--items"] {
            let arguments = ["http://127.0.0.1/", "--collection", "c", option, "/data"]
            #expect(try SyncCommand.parse(arguments).list.records == "/data")
        }
    }
}
