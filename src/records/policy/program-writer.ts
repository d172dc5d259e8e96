/** Writes rows with their nested rows for the program itself, which may write everything. */
import { silentLog } from '../../core/log.js'
import type { Id } from '../filters/list-options.js'
import { toKey } from '../model/key.js'
import { isolationOf } from '../model/isolation.js'
import type { Table } from '../model/table.js'
import type { TreeRecords } from '../statements/tree-records.js'
import type { Source } from '../statements/source.js'
import { allowingSwaps } from '../statements/swapped-values.js'
import type { Caller } from '../rights/caller.js'
import { ClientView } from './client-view.js'
import { JudgedKeys } from './judged-keys.js'
import { TreeRights } from './tree-rights.js'
import { TreeWriter } from './tree-writer.js'
import { tablesOf, type Instance, type WriteTree } from '../statements/write-tree.js'
import { holdSeen, type WriterHome } from './writer-home.js'

type Repositories = (table: Table, source: Source) => TreeRecords

const program: Caller = Object.freeze({
  trusted: true,
  auth: undefined,
  user: null,
  request: undefined,
})

export class ProgramWriter {
  readonly #source: Source
  readonly #repositories: Repositories

  /** @param repositories gives the repository of a table, in a transaction */
  constructor(source: Source, repositories: Repositories) {
    this.#source = source
    this.#repositories = repositories
  }

  async create(tree: WriteTree): Promise<Instance> {
    await new TreeRights(program, false).demand(tree, true)
    return this.#source.atomically(
      (inner) => this.#writerIn(inner).writer.create(tree),
      isolationOf(tablesOf(tree)),
    )
  }

  /** @returns null if no row has the key, or the condition does not match */
  async update(
    id: Id,
    tree: WriteTree,
    {
      where,
      expected,
    }: { readonly where?: unknown; readonly expected?: readonly number[] | undefined },
  ): Promise<Instance | null> {
    const { table } = tree
    const key = toKey(this.#source.context.codecOf(table), id)
    if (key === undefined) return null
    await new TreeRights(program, false).demand(tree, false)
    const update = async (inner: Source): Promise<Instance | null> => {
      const { writer, view } = this.#writerIn(inner)
      const isIt = { [table.key.property]: table.key.isUuid ? id : Number(id) }
      const asked = where === undefined ? isIt : { and: [isIt, where] }
      const [before] = await holdSeen(table, asked, view, inner)
      return before === undefined ? null : writer.update(tree, before, expected)
    }
    const isolation = isolationOf(tablesOf(tree))
    return allowingSwaps((work) => this.#source.atomically(work, isolation), update)
  }

  #writerIn(inner: Source): { writer: TreeWriter; view: ClientView } {
    const home: WriterHome = {
      source: inner,
      records: (table) => this.#repositories(table, inner),
    }
    const view = new ClientView({ context: inner.context, caller: program, log: silentLog })
    return { writer: new TreeWriter(home, view, new JudgedKeys(home, view)), view }
  }
}
