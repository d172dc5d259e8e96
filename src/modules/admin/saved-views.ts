/** The saved views of lists, which belong to the account that saved them: `{path}/api/views/<record>`. */
import { createHash, randomUUID } from 'node:crypto'
import {
  Controller,
  Database,
  Delete,
  describeRecord,
  Field,
  Get,
  HttpError,
  Patch,
  Post,
  Secured,
  Undocumented,
  type Claims,
  type Class,
  type CustomSql,
} from '../../index.js'
import type { AdminOptions } from './options.js'

class NewView {
  /** A view of this name is replaced. */
  @Field('string', {
    trim: true,
    minLength: 1,
    maxLength: 60,
    pattern: String.raw`^[^\x00-\x1f]+$`,
  })
  name!: string
  /** The state of the list, as in its address: `status=open&orderBy=-due`. */
  @Field('string', { maxLength: 4000, pattern: String.raw`^[\x21-\x7e]*$` })
  query!: string
}

class RenamedView {
  @Field('string', {
    trim: true,
    minLength: 1,
    maxLength: 60,
    pattern: String.raw`^[^\x00-\x1f]+$`,
  })
  name!: string
}

interface SavedView {
  readonly id: string
  readonly name: string
  readonly query: string
}

/** The lists of one account. */
interface ViewOwner {
  readonly page: string
  /** A hash, so that every `sub` can be a key on every database. */
  readonly account: string
  /** The plural of the record. */
  readonly record: string
}

/** The number of views that an account can save for a record. */
const maxViews = 50

const table = 'filigree_admin_view'
const createTable = `create table if not exists ${table} (
  id text primary key not null,
  page text not null,
  account text not null,
  record text not null,
  name text not null,
  query text not null,
  unique (page, account, record, name)
)`

class SavedViews {
  readonly #statements: Readonly<Record<'list' | 'save' | 'rename' | 'remove', CustomSql>>
  #isReady: Promise<void> | undefined

  constructor(private readonly database: Database) {
    const prepare = (
      kind: 'select' | 'upsert' | 'update' | 'delete',
      write: Parameters<Database['prepare']>[1],
    ): CustomSql => database.prepare({ kind, tables: [table] }, write)
    this.#statements = {
      list: prepare(
        'select',
        ({ value }) => `select id, name, query from ${table}
          where page = ${value('page')} and account = ${value('account')} and record = ${value('record')}
          order by name`,
      ),
      save: prepare(
        'upsert',
        ({ value }) => `insert into ${table} (id, page, account, record, name, query)
          values (${['id', 'page', 'account', 'record', 'name', 'query'].map(value).join(', ')})
          on conflict (page, account, record, name) do update set query = excluded.query
          returning id, name, query`,
      ),
      rename: prepare(
        'update',
        ({ value }) => `update ${table} set name = ${value('name')}
          where id = ${value('id')} and page = ${value('page')} and account = ${value('account')}
          and record = ${value('record')}`,
      ),
      remove: prepare(
        'delete',
        ({ value }) => `delete from ${table} where id = ${value('id')} and page = ${value('page')}
          and account = ${value('account')} and record = ${value('record')}`,
      ),
    }
  }

  /** @returns the views by name */
  async list(owner: ViewOwner): Promise<SavedView[]> {
    await this.#ensureTable()
    return (await this.#statements.list.rows({ ...owner })).map(toView)
  }

  /** @throws {HttpError} 409 if the account has too many views */
  async save(owner: ViewOwner, { name, query }: NewView): Promise<SavedView> {
    const views = await this.list(owner)
    if (views.length >= maxViews && !views.some((view) => view.name === name))
      throw new HttpError(409, `A list has at most ${maxViews} saved views. Delete one first.`)
    const values = { ...owner, id: randomUUID(), name, query }
    const [row] = await this.#statements.save.rows(values)
    if (row === undefined) throw new Error('The database has not returned the saved view.')
    return toView(row)
  }

  /** @throws {HttpError} 404 if the account has no such view, and 409 if another one has the name */
  async rename(owner: ViewOwner, id: string, name: string): Promise<void> {
    const views = await this.list(owner)
    if (views.some((view) => view.name === name && view.id !== id))
      throw new HttpError(409, `There is already a view ${JSON.stringify(name)}.`)
    if ((await this.#statements.rename.change({ ...owner, id, name })) === 0)
      throw new HttpError(404)
  }

  /** @throws {HttpError} 404 if the account has no such view */
  async remove(owner: ViewOwner, id: string): Promise<void> {
    await this.#ensureTable()
    if ((await this.#statements.remove.change({ ...owner, id })) === 0) throw new HttpError(404)
  }

  #ensureTable(): Promise<void> {
    this.#isReady ??= this.database.ensureTable(table, createTable).catch((error: unknown) => {
      this.#isReady = undefined
      throw error
    })
    return this.#isReady
  }
}

const toView = ([id, name, query]: readonly unknown[]): SavedView => ({
  id: String(id),
  name: String(name),
  query: String(query),
})

/** Requires a role of the page. A view names fields and values only, and its list is read with the rights of the caller. */
export function viewsController(options: AdminOptions, types: () => readonly Class[]): Class {
  const { path: page, roles } = options
  @Controller(`${page}/api/views`)
  @Undocumented
  @Secured({ roles: [roles].flat() })
  class AdminViews {
    static readonly inject = [Database]
    readonly #views: SavedViews
    readonly #records: ReadonlySet<string>

    constructor(database: Database) {
      this.#views = new SavedViews(database)
      this.#records = new Set(types().flatMap((type) => describeRecord(type)?.plural ?? []))
    }

    @Get('/<record>')
    list(record: string, user: Claims | null): Promise<SavedView[]> {
      return this.#views.list(this.#ownerOf(record, user))
    }

    @Post('/<record>', { body: NewView })
    save(record: string, body: NewView, user: Claims | null): Promise<SavedView> {
      return this.#views.save(this.#ownerOf(record, user), body)
    }

    @Patch('/<record>/<id>', { body: RenamedView, status: 204 })
    rename(record: string, id: string, body: RenamedView, user: Claims | null): Promise<void> {
      return this.#views.rename(this.#ownerOf(record, user), id, body.name)
    }

    @Delete('/<record>/<id>', { status: 204 })
    remove(record: string, id: string, user: Claims | null): Promise<void> {
      return this.#views.remove(this.#ownerOf(record, user), id)
    }

    /** @throws {HttpError} 404 if the page has no such record, and 403 for a token that names no account */
    #ownerOf(record: string, user: Claims | null): ViewOwner {
      if (!this.#records.has(record)) throw new HttpError(404)
      if (user !== null && user.sub === undefined)
        throw new HttpError(403, undefined, { reason: 'the token has no sub, so it has no views' })
      const account = user === null ? 'key' : `sub ${String(user.sub)}`
      return { page, record, account: createHash('sha256').update(account).digest('base64url') }
    }
  }
  return AdminViews
}
