/**
 * Checks keys and links that a client names: rows that it cannot see count as missing. Source: decisions, Second
 * storey: rights.
 */
import type { Id } from '../filters/list-options.js'
import { toKey } from '../model/key.js'
import type { Relation, Table } from '../model/table.js'
import { noSuchKey } from '../statements/write-faults.js'
import type { ClientView } from './client-view.js'
import { isNothing, keyOf, textOf } from '../filters/key-forms.js'
import { policyOf } from '../rights/record-policy.js'
import type { Instance, Tie, WriteTree } from '../statements/write-tree.js'
import { mostAtOnce, type WriterHome } from './writer-home.js'

export class JudgedKeys {
  readonly #home: WriterHome
  readonly #view: ClientView

  constructor(home: WriterHome, view: ClientView) {
    this.#home = home
    this.#view = view
  }

  /** True if a given key must be checked. */
  names({ table, values }: WriteTree): boolean {
    if (this.#view.caller.trusted) return false
    for (const { kind, local } of policyOf(table).judged)
      if (kind === 'belongsTo' && !isNothing(values[local.property])) return true
    return false
  }

  /**
   * @param before the stored row: a key that does not change is not checked
   * @throws {HttpError} 409 `CONFLICT`
   */
  async judge(tree: WriteTree, before?: Instance): Promise<void> {
    if (this.#view.caller.trusted) return
    const { context } = this.#home.source
    for (const relation of policyOf(tree.table).judged) {
      const { property } = relation.local
      const value = tree.values[property]
      if (relation.kind !== 'belongsTo' || isNothing(value) || tree.given.has(property)) continue
      if (before !== undefined && textOf(before[property]) === textOf(value)) continue
      // A value that cannot be a key is reported as a fault of the value.
      if (toKey(context.codecOf(relation.target), value) === undefined) continue
      const seen = await this.seen(relation.target, [value as Id])
      if (seen.length === 0) throw tree.told(noSuchKey(relation))
    }
    for (const tie of tree.ties) await this.#judgeTie(tie)
  }

  async #judgeTie({ relation, ids, told }: Tie): Promise<void> {
    if (!this.isJudged(relation) || !Array.isArray(ids)) return
    const codec = this.#home.source.context.codecOf(relation.target)
    const keys = ids.filter((id) => toKey(codec, id) !== undefined)
    if (keys.length < ids.length) return
    const seen = await this.seen(relation.target, keys)
    if (seen.length < keys.length) throw told(noSuchKey(relation))
  }

  isJudged(relation: Relation): boolean {
    return !this.#view.caller.trusted && policyOf(relation.table).judged.has(relation)
  }

  /** Those of the keys whose rows the caller can see. */
  async seen(target: Table, ids: readonly Id[]): Promise<Id[]> {
    const { property } = target.key
    const seen = new Set<string>()
    for (let from = 0; from < ids.length; from += mostAtOnce) {
      const some = ids.slice(from, from + mostAtOnce).map((id) => keyOf(target, id))
      const where = { [property]: { in: some } }
      const rows = await this.#home.records(target).list({ where, view: this.#view })
      for (const row of rows) seen.add(textOf(row[property]))
    }
    return ids.filter((id) => seen.has(textOf(keyOf(target, id))))
  }
}
