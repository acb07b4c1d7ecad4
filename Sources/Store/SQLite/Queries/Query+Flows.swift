/// The statements of flows: nodes, dependencies and the effects that are left to do.
extension Query {
    static let flow = Query("SELECT turn, nodes, failed, first_failed, stops_on_failure FROM flow WHERE turn = ?1")
    static let saveFlow = Query("UPDATE flow SET nodes = ?2, failed = ?3, first_failed = ?4 WHERE turn = ?1")
    static let insertFlow = Query("INSERT INTO flow(turn, nodes, failed, stops_on_failure) VALUES (?1, ?2, 0, ?3)")
    static let node = Query("SELECT turn, flow, name, pending, flags, cause FROM node WHERE turn = ?1")
    static let nodesAfter = Query(
        "SELECT turn, flow, name, pending, flags, cause FROM node WHERE turn > ?1 ORDER BY turn LIMIT ?2")
    static let saveNode = Query("UPDATE node SET pending = ?2, flags = ?3, cause = ?4 WHERE turn = ?1")
    static let insertNode = Query("INSERT INTO node(turn, flow, name, pending, flags) VALUES (?1, ?2, ?3, ?4, ?5)")
    static let nodesOf = Query("SELECT turn FROM node WHERE flow = ?1 AND turn > ?2 ORDER BY turn LIMIT ?3")
    static let lastNodesOf = Query("SELECT turn FROM node WHERE flow = ?1 ORDER BY turn DESC LIMIT ?2")
    static let dependantsOf = Query(
        """
        SELECT parent, child, condition, state FROM dependency
        WHERE parent = ?1 AND child > ?2 ORDER BY child LIMIT ?3
        """)
    static let dependenciesOf = Query(
        "SELECT parent, child, condition, state FROM dependency WHERE child = ?1 ORDER BY parent")
    static let dependenciesAfter = Query(
        """
        SELECT parent, child, condition, state FROM dependency WHERE child = ?1 AND parent > ?2 ORDER BY parent LIMIT ?3
        """)
    static let saveDependency = Query("UPDATE dependency SET state = ?3 WHERE parent = ?1 AND child = ?2")
    static let insertDependency = Query(
        "INSERT OR IGNORE INTO dependency(parent, child, condition, state) VALUES (?1, ?2, ?3, ?4)")
    static let markParent = Query("UPDATE command SET relations = relations | 2 WHERE turn = ?1")
    static let saveRelations = Query("UPDATE command SET relations = ?2 WHERE turn = ?1")
    static let nextCascade = Query("SELECT turn, step, after FROM cascade LIMIT 1")
    static let cascadeOf = Query("SELECT turn, step, after FROM cascade WHERE turn = ?1 AND step = ?2")
    static let saveCascade = Query("INSERT OR REPLACE INTO cascade(turn, step, after) VALUES (?1, ?2, ?3)")
    static let removeCascade = Query("DELETE FROM cascade WHERE turn = ?1 AND step = ?2")
}
