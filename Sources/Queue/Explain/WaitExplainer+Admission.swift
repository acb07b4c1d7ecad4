internal import Commands
internal import Console
internal import Host
internal import NetworkControl
internal import Store

extension WaitExplainer {
    /// The rule of admission that holds the command back, while a coordinator runs. Nil for rules with a
    /// reason of their own.
    func admission(_ command: Command) -> WaitReason? {
        let destination = command.destination
        guard queue.coordinator != nil,
            let link = links.first(where: { $0.destination == destination.text && $0.direction == .up }),
            let wait = link.waits[command.qos]
        else { return nil }
        guard let text = AdmissionText(wait, of: destination, qos: command.qos) else { return nil }
        return WaitReason(
            wait.rule == .starts ? "rate" : wait.rule.rawValue, text.measured, threshold: text.threshold,
            remedy: text.remedy, values: wait.json)
    }
}
