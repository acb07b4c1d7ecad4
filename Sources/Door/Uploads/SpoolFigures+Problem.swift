internal import Console
package import Uploads

extension SpoolFigures {
    /// Why the door refuses uploads of any size; nil while there is room. `/readyz`, `doctor`, `status` and the pages say
    /// this.
    package var problem: String? {
        guard room == 0 else { return nil }
        if let quota, used >= quota {
            return "uploads are refused: the spool has \(Figures.bytes(used)), and its quota is "
                + "\(Figures.bytes(quota)); wait until uploads are sent on, or raise door.uploadQuota"
        }
        return "uploads are refused: the disk of the spool has \(Figures.bytes(max(free - promised, 0))) free, of "
            + "which \(Figures.bytes(floor)) must stay free; make room, or set door.minFreeSpace"
    }

    /// The figures in a sentence.
    package var summary: String {
        let bound = quota.map { " of at most \(Figures.bytes($0))" } ?? ""
        return "\(Figures.bytes(used))\(bound); its disk has \(Figures.bytes(free)) free, of which "
            + "\(Figures.bytes(floor)) stay free"
    }
}
