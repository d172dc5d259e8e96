/** The part of a repository by which rows are written with those nested in them. */
import type { Later } from '../../core/maybe-promise.js'
import type { Id, ListOptions } from '../filters/list-options.js'
import type { RowChange } from './change-row.js'
import type { Writer } from './run-hooks.js'
import type { Referrer } from './write-faults.js'
import type { Instance } from './write-tree.js'

/** What each does stands at the `Repository`'s methods. */
export interface TreeRecords {
  find(id: Id, options?: { readonly with?: readonly string[] }): Promise<Instance | null>
  list(options: ListOptions<Instance>): Promise<Instance[]>
  createNow(values: Instance, writer?: Writer): Later<Instance>
  updateNow(id: Id, values: Instance, options?: Omit<RowChange, 'values'>): Later<Instance | null>
  deleteNow(
    id: Id,
    mayTell?: (referrer: Referrer) => boolean,
    expected?: readonly number[],
    writer?: Writer,
  ): Later<boolean>
  link(id: Id, relation: string, ids: readonly Id[]): Promise<number>
  unlink(id: Id, relation: string, ids: readonly Id[]): Promise<number>
}
