/// Max-min fair shares: who wants less than an even share gets that, and the others share what is left.
package enum SlotSharing {
    /// - Returns: a share for each demand, in the same order. Their sum is the lesser of `total` and the sum of demands.
    package static func shares(of total: Int, demands: [Int]) -> [Int] {
        var shares = demands.map { _ in 0 }
        var left = max(total, 0)
        var waiting = demands.indices.sorted { demands[$0] < demands[$1] }[...]
        while let index = waiting.popFirst() {
            shares[index] = min(max(demands[index], 0), left / (waiting.count + 1))
            left -= shares[index]
        }
        return shares
    }
}
