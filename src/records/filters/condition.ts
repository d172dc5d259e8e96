/** A parsed filter of records: a condition whose relations are theirs. */
import type { Condition as SqlCondition } from '../../sql/condition.js'
import type { Relation } from '../model/table.js'

export type Condition = SqlCondition<Relation>
