internal import Commands

/// The payload that one TCP flow has sent, counted before any queue in steps of 10 ms. Retransmissions count
/// again.
package struct SentFlow: Sendable {
    package var destination: String
    package var clientPort: Int
    package var serverPort: Int
    package var sent: ByteSteps

    init?(_ json: JSONValue, step: Int64) {
        guard let destination = json["destination"]?.string, let client = json["clientPort"]?.integer,
            let server = json["serverPort"]?.integer
        else { return nil }
        self.destination = destination
        clientPort = Int(client)
        serverPort = Int(server)
        sent = ByteSteps(step: step, json["steps"])
    }
}
