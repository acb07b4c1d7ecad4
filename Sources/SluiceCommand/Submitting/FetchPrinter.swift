internal import Commands
internal import Console
internal import Fetch
internal import HTTPClient
internal import Queue

/// Prints the responses of a fetch: bodies on standard output, their age on standard error.
struct FetchPrinter {
    let asJSON: Bool

    /// A stored response.
    func show(_ stored: StoredFetch) throws {
        let age = stored.age.map { "\($0.shortText) old" } ?? "of unknown age"
        if asJSON {
            line(stored.result, stage: stored.staleBecause == nil ? "stored" : "stale")
        } else {
            try body(of: stored.result)
            Output.flush()
            let stale = stored.staleBecause.map { ", and stale (\($0))" } ?? ""
            Diagnostics.say("stored: the response is \(age)\(stale)")
            remark(stored.result)
        }
        Output.flush()
    }

    /// The end of the command that asked.
    /// - Parameter isFirstShown: the stored response was printed.
    func show(_ outcome: CommandOutcome, _ result: JSONValue, isFirstShown: Bool) throws {
        let source = result["source"]?.string
        let isStale = result["stale"]?.bool == true
        let stage =
            source == "network" ? "fresh" : source == "notModified" ? "notModified" : isStale ? "stale" : "stored"
        if asJSON {
            line(result, stage: stage, id: outcome.id)
        } else if source == "network" || !isFirstShown {
            try body(of: result)
        }
        Output.flush()
        if !asJSON, !isFirstShown { remark(result) }
        if !asJSON, isStale {
            let age = result["age"]?.integer.map { "\(Duration.seconds($0).shortText) old" } ?? "of unknown age"
            let why = result["staleBecause"]?.string ?? ""
            Diagnostics.say("stale: its server brought no fresh response; the stored one is \(age) (\(why))")
        } else if !asJSON, isFirstShown {
            Diagnostics.say(
                source == "network" ? "fresh: this response has just arrived" : "fresh: nothing has changed")
        }
    }

    private func remark(_ result: JSONValue) {
        if let remark = result["remark"]?.string { Diagnostics.say(remark) }
    }

    private func line(_ result: JSONValue, stage: String, id: CommandID? = nil) {
        var members: [JSONValue.Member] = [.init("stage", .string(stage))]
        if let id { members.append(.init("id", .string(id.description))) }
        members.append(.init("result", HTTPHeaderRedaction.shown(result: result)))
        Output.line(JSONValue.object(members).bytes)
    }

    private func body(of result: JSONValue) throws {
        let bytes: [UInt8]
        do { bytes = try StoredFetch.body(of: result) } catch {
            throw ExitError(.tryAgain, "the stored body is gone, because another fetch has replaced it: \(error)")
        }
        Output.append { $0 += bytes }
        if Output.isTerminal, bytes.last != UInt8(ascii: "\n") { Output.line("") }
        if result["bodyTruncated"]?.bool == true {
            Diagnostics.say("the response is longer than 64 KiB and was not stored: this is its start")
        }
    }
}
