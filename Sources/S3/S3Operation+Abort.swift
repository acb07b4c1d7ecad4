internal import Commands
package import Operations
internal import Transfers

extension S3Operation {
    /// Aborts the multipart upload of a command that has ended, until none of its parts is listed.
    /// - Throws: ``CommandFailure``. A refusal is charged, because the rights of the access key may be corrected.
    package func abort(_ uploadID: String, of payload: S3Payload, _ execution: CommandExecution) async throws {
        let (client, requests) = try requester(payload, execution)
        switch try await client.abort(uploadID, requests) {
        case .gone: evidence.recordSuccess(at: payload.destination)
        case .hasParts:
            throw CommandFailure(
                .command, reason: "the endpoint still lists parts of an aborted upload to \(requests.address.url)")
        case .refused(let failure?, let refusal) where failure.fault != .final && !refusal.isDenied: throw failure
        case .refused(_, let refusal):
            let remedy = refusal.isDenied ? ", so give the access key the right s3:AbortMultipartUpload" : ""
            var failure = CommandFailure(
                .command,
                reason:
                    "the abort of an upload to \(requests.address.url) was answered \(refusal.text); its parts cost "
                    + "money until it is aborted\(remedy)")
            failure.isAnswer = true
            throw failure
        }
    }
}
