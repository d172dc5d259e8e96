import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import {
  BelongsTo,
  Field,
  ManyToMany,
  Record,
  type FieldRules,
  type Rel,
  type Database,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { runSql } from './run-sql.js'
import { thing, type Fields } from './thing.js'
import type { Class } from '../public-types.js'
import {
  checkMigrations,
  makeMigration,
  migrateDown,
  migrateUp,
  setRecords,
  useMigrations,
} from './migration-helpers.js'

const engines = await startBothEngines()

@Record({ table: 'tag' })
class Tag {
  @Field('id') id!: number
}
@Record({ table: 'article' })
class Article {
  @Field('id') id!: number
  @Field('string', { unique: true, maxLength: 40 }) title!: string
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
}
@Record({ table: 'post', was: 'article' })
class Post {
  @Field('id') id!: number
  @Field('string', { unique: true, maxLength: 40, was: 'title' }) heading!: string
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
}

@Record({ table: 'project' })
class Project {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string') name!: string
}
@Record({ table: 'task' })
class Task {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string') projectId!: string
  @BelongsTo(() => Project, { onDelete: 'cascade' }) project!: Rel<Project>
}
@Record({ table: 'project', shardBy: 'tenantId' })
class ShardedProject {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string') name!: string
}
@Record({ table: 'task', shardBy: 'tenantId' })
class ShardedTask {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string') projectId!: string
  @BelongsTo(() => ShardedProject, { onDelete: 'cascade' }) project!: Rel<ShardedProject>
}

const migrations = useMigrations()
const { open, optionsAt } = migrations
const textOf = async (name: string, engine: string): Promise<string> => {
  const files = await readdir(migrations.folder)
  const file = files.find((one) => one.endsWith(`_${name}.${engine}.sql`)) ?? name
  return readFile(join(migrations.folder, file), 'utf8')
}
const rows = async (database: Database, query: string): Promise<unknown[]> =>
  (await sql.raw(query).execute(database.kysely)).rows

describe.each(engines)('renames: %s', (_name, address) => {
  it('keep all rows and links, and down reverts them', async () => {
    const database = await open(await address(), Article, Tag)
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    const tag = await database.records(Tag).create({})
    const article = await database.records(Article).create({ title: 'One' })
    await sql`insert into article_tag (article_id, tag_id) values (${article.id}, ${tag.id})`.execute(
      database.kysely,
    )
    setRecords(database, Post, Tag)
    const migration = await makeMigration(database, 'rename', optionsAt(1))
    const text = await textOf('rename', database.engineName)
    expect(text).toContain('alter table "article" rename to "post"')
    expect(text).toContain('rename column "title" to "heading"')
    expect(text).not.toContain('no transaction')
    const renames = text.match(/ is called \w+ now/g)?.length
    const reviews = text.match(/-- REVIEW: processes of the version before fail on this table/g)
    expect(reviews).toHaveLength(renames ?? 0)
    expect(migration?.warnings.join()).toContain(
      'Processes of the version before fail on this table',
    )
    await migrateUp(database, optionsAt(1))
    await database.verify()
    expect(await database.differences()).toEqual([])
    expect(await makeMigration(database, 'again', optionsAt(2))).toBeUndefined()
    expect(await database.records(Post).list()).toMatchObject([{ id: article.id, heading: 'One' }])
    expect(await rows(database, 'select post_id, tag_id from post_tag')).toHaveLength(1)
    await expect(database.records(Post).create({ heading: 'One' })).rejects.toMatchObject({
      status: 409,
      errors: [{ path: 'heading' }],
    })
    await migrateDown(database, optionsAt(1))
    expect(await rows(database, 'select id, title from article')).toMatchObject([{ title: 'One' }])
    expect(await rows(database, 'select tag_id from article_tag')).toHaveLength(1)
    await migrateUp(database, optionsAt(1))
    await database.verify()
    expect(await rows(database, 'select heading from post')).toEqual([{ heading: 'One' }])
  })

  it('are also made by sync, only once', async () => {
    const database = await open(await address(), Article, Tag)
    await database.sync()
    await database.records(Article).create({ title: 'One' })
    setRecords(database, Post, Tag)
    const kinds = (await database.sync()).map(({ kind }) => kind)
    expect(kinds).toEqual(expect.arrayContaining(['renamed table', 'renamed column']))
    expect(await database.records(Post).list()).toMatchObject([{ heading: 'One' }])
    expect(await database.sync()).toEqual([])
  })
})

/** Fields of the version before, of the version after, and the values of a row in both. */
type RenameCase = readonly [string, Fields, Fields, Values, Values]
type Values = Readonly<globalThis.Record<string, unknown>>
const text: Fields[string] = ['string', { unique: true }]
const was = (name: string): Fields[string] => ['string', { unique: true, was: name }]
const added: Fields[string] = ['string', { default: 'new', maxLength: 9 }]

const renameCases: readonly RenameCase[] = [
  [
    'to a new name while another field takes the old one',
    { name: text },
    { title: was('name'), name: added },
    { name: 'a' },
    { title: 'a', name: 'new' },
  ],
  [
    'while an optional field takes the old name',
    { name: text },
    { name: ['string', { nullable: true }], title: was('name') },
    { name: 'a' },
    { title: 'a', name: null },
  ],
  [
    'while a required integer takes the old name',
    { name: text },
    { name: ['integer', { default: 3 }], title: was('name') },
    { name: 'a' },
    { title: 'a', name: 3 },
  ],
  [
    'in a chain, in either order',
    { a: text, b: text },
    { b: was('a'), c: was('b') },
    { a: 'first', b: 'second' },
    { b: 'first', c: 'second' },
  ],
  [
    'in a chain whose first name a new field takes',
    { a: text, b: text },
    { c: was('b'), a: added, b: was('a') },
    { a: 'first', b: 'second' },
    { a: 'new', b: 'first', c: 'second' },
  ],
]

@Record({ table: 'post', was: 'article' })
class MovedPost {
  @Field('id') id!: number
  @Field('string', { unique: true, maxLength: 40 }) title!: string
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
}
@Record({ table: 'label' })
class Label {
  @Field('id') id!: number
}
@Record({ table: 'post', was: 'article' })
class LabelledPost {
  @Field('id') id!: number
  @Field('string', { unique: true, maxLength: 40 }) title!: string
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
  @ManyToMany(() => Label) labels!: Rel<Label[]>
}
@Record({ table: 'article' })
class LabelledArticle {
  @Field('id') id!: number
  @Field('string', { unique: true, maxLength: 40 }) title!: string
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
  @ManyToMany(() => Label) labels!: Rel<Label[]>
}

describe.each(engines)('renames that free a name: %s', (_name, address) => {
  it.each(renameCases)('keep the values %s', async (_what, before, after, values, expected) => {
    for (const isSync of [false, true]) {
      const old = thing(before)
      const database = await open(await address(), old)
      const apply = async (name: string, minute: number): Promise<void> => {
        if (isSync) await database.sync()
        else {
          await makeMigration(database, name, optionsAt(minute))
          await migrateUp(database, optionsAt(minute))
        }
      }
      await apply('first', 0)
      await database.records(old).create(values)
      const type = thing(after)
      setRecords(database, type)
      await expect(database.verify()).rejects.toThrow('is called')
      await apply('second', 1)
      await database.verify()
      expect(await database.differences()).toEqual([])
      expect(await database.records(type).list()).toMatchObject([expected])
      expect(await database.sync()).toEqual([])
      if (isSync) continue
      expect(await makeMigration(database, 'again', optionsAt(2))).toBeUndefined()
      await migrateDown(database, optionsAt(1))
      setRecords(database, old)
      expect(await database.records(old).list()).toMatchObject([values])
      await database.verify()
    }
  })

  it('move a table to its new name before a new record takes the old one', async () => {
    const database = await open(await address(), Article, Tag)
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    const tag = await database.records(Tag).create({})
    const article = await database.records(Article).create({ title: 'One' })
    await sql`insert into article_tag (article_id, tag_id) values (${article.id}, ${tag.id})`.execute(
      database.kysely,
    )
    setRecords(database, MovedPost, Article, Tag)
    await makeMigration(database, 'second', optionsAt(1))
    await migrateUp(database, optionsAt(1))
    await database.verify()
    expect(await database.records(MovedPost).list()).toMatchObject([{ title: 'One' }])
    expect(await database.records(Article).list()).toEqual([])
    expect(await rows(database, 'select post_id from post_tag')).toHaveLength(1)
    expect(await rows(database, 'select article_id from article_tag')).toHaveLength(0)
    // A later relation of the renamed record does not take the table of the new one.
    setRecords(database, MovedPost, LabelledArticle, Tag, Label)
    await database.sync()
    setRecords(database, LabelledPost, LabelledArticle, Tag, Label)
    expect((await database.sync()).map(({ message }) => message)).toEqual([
      'Table label_post is missing.',
      ...(database.engineName === 'sqlite'
        ? []
        : [
            expect.stringContaining('label_post.post_id does not refer'),
            expect.stringContaining('label_post.label_id does not refer'),
          ]),
    ])
  })

  it.each<[string, Fields, Fields, string]>([
    [
      'two fields exchange their names',
      { a: text, b: text },
      { a: was('b'), b: was('a') },
      'Thing.a and Thing.b exchange their names',
    ],
    [
      'three fields exchange their names',
      { a: text, b: text, c: text },
      { a: was('b'), b: was('c'), c: was('a') },
      'Thing.a and Thing.b and Thing.c exchange their names',
    ],
    [
      'two fields have the same old name',
      { a: text },
      { b: was('a'), c: was('a') },
      'Thing.b and Thing.c have the same old name, a',
    ],
  ])('are refused before anything runs if %s', async (_what, before, after, message) => {
    const old = thing(before)
    const database = await open(await address(), old)
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    const values = Object.fromEntries(Object.keys(before).map((name) => [name, `of ${name}`]))
    await database.records(old).create(values)
    setRecords(database, thing(after))
    for (const attempt of [
      () => database.verify(),
      () => database.sync(),
      () => makeMigration(database, 'second', optionsAt(1)),
    ]) {
      await expect(attempt()).rejects.toMatchObject({
        problems: [
          {
            message: expect.stringContaining(message),
            remedy: expect.stringMatching(/^Remove `was` from/),
          },
        ],
      })
    }
    setRecords(database, old)
    expect(await database.records(old).list()).toMatchObject([values])
  })
})

describe.each(engines)(
  'a column or table that a record drops and declares again: %s',
  (_name, address) => {
    const size = thing({ name: ['string'], size: ['integer', { default: 1, index: true }] })
    const bare = thing({ name: ['string'] })
    /** Runs two migrations. The second one leaves `size` in the table. */
    const openWithUnusedColumn = async (): Promise<Database> => {
      const database = await open(await address(), size, Tag)
      await makeMigration(database, 'first', optionsAt(0))
      await migrateUp(database, optionsAt(0))
      await database.records(size).create({ name: 'a', size: 5 })
      setRecords(database, bare)
      expect(await makeMigration(database, 'second', optionsAt(1))).toBeUndefined()
      setRecords(database, thing({ name: ['string'], weight: ['integer', { optional: true }] }))
      await makeMigration(database, 'second', optionsAt(1))
      await migrateUp(database, optionsAt(1))
      return database
    }
    const redeclared = thing({
      name: ['string'],
      weight: ['integer', { optional: true }],
      size: ['integer', { default: 2, nullable: true }],
    })

    it('keeps its values through up and down', async () => {
      const database = await openWithUnusedColumn()
      setRecords(database, redeclared)
      await makeMigration(database, 'third', optionsAt(2))
      await migrateUp(database, optionsAt(2))
      await database.verify()
      expect(await database.records(redeclared).list()).toMatchObject([{ size: 5 }])
      await migrateDown(database, optionsAt(2))
      const [row] = (await rows(database, 'select size from thing')) as { size: unknown }[]
      expect(Number(row?.size)).toBe(5)
      await migrateUp(database, optionsAt(2))
      expect(await database.records(redeclared).list()).toMatchObject([{ size: 5 }])
      expect(
        await checkMigrations(database, { folder: migrations.folder, engines: undefined }),
      ).toEqual([])
    })

    it('is created again if its drop statement was uncommented', async () => {
      await openWithUnusedColumn()
      for (const file of await readdir(migrations.folder)) {
        if (!file.includes('_second.')) continue
        const text = await readFile(join(migrations.folder, file), 'utf8')
        expect(text).toContain('-- alter table "thing" drop column "size";')
        const opened = text.replace(/^-- ((?:alter|drop) .*;)$/gm, '$1')
        await writeFile(join(migrations.folder, file), opened)
      }
      const other = await open(await address(), redeclared, Tag)
      await makeMigration(other, 'third', optionsAt(2))
      await migrateUp(other, optionsAt(2))
      await other.verify()
      expect(await other.differences()).toEqual([])
      await other.records(redeclared).create({ name: 'a' })
      await other.records(Tag).create({})
      await migrateDown(other, optionsAt(2))
      expect(JSON.stringify(await rows(other, 'select * from thing'))).not.toContain('size')
    })

    it('can be an entire table', async () => {
      const database = await openWithUnusedColumn()
      await database.records(Tag).create({})
      setRecords(database, redeclared, Tag)
      await makeMigration(database, 'third', optionsAt(2))
      await migrateUp(database, optionsAt(2))
      expect(await database.records(Tag).count()).toBe(1)
      await migrateDown(database, optionsAt(2))
      expect(await rows(database, 'select id from tag')).toHaveLength(1)
    })
  },
)

describe('migrations of large tables on PostgreSQL', () => {
  const address = engines[1]?.[1] as () => Promise<string>

  it('create indexes concurrently, and validate rules afterwards', async () => {
    const database = await open(
      await address(),
      thing({ name: ['string'], size: ['integer', { nullable: true }] }),
    )
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    await sql`insert into thing (name, size) select 'n' || n, null from generate_series(1, 25000) n`.execute(
      database.kysely,
    )
    setRecords(
      database,
      thing({
        name: ['string', { unique: true, maxLength: 9 }],
        size: ['integer', { default: 4, min: 1, index: true }],
        more: ['integer', { default: 2, max: 3 }],
      }),
    )
    const migration = await makeMigration(database, 'second', optionsAt(1))
    expect(migration?.warnings).toEqual([expect.stringContaining('SQLite: ')])
    const text = await textOf('second', 'postgres')
    expect(text.startsWith('-- filigree: no transaction\n')).toBe(true)
    expect(text).toContain('create unique index concurrently "thing_name_key"')
    expect(text).toContain('create index concurrently "thing_size_index"')
    expect(text).toMatch(/add constraint "thing_name_check_\w+" check \(.*\) not valid;/)
    expect(text).toMatch(/validate constraint "thing_name_check_\w+"/)
    expect(text).toMatch(/where "size" is null\n[^]*limit 10000\);[^]*commit;[^]*set not null/)
    expect(await textOf('second', 'sqlite')).not.toContain('no transaction')
    await migrateUp(database, optionsAt(1))
    await database.verify()
    expect(await database.differences()).toEqual([])
    expect(await rows(database, 'select distinct size, more from thing')).toEqual([
      { size: '4', more: '2' },
    ])
    expect(await rows(database, 'select 1 from pg_constraint where not convalidated')).toEqual([])
    expect(await rows(database, 'select 1 from pg_index where not indisvalid')).toEqual([])
    await migrateDown(database, optionsAt(1))
    expect(await rows(database, "select 1 from pg_indexes where tablename = 'thing'")).toHaveLength(
      1,
    )
    await migrateUp(database, optionsAt(1))
    await database.verify()
  })

  const sized = (rules: FieldRules): Class => thing({ name: ['string'], size: ['integer', rules] })

  it('fill a column of a partitioned table, and change no other value', async () => {
    const database = await open(await address(), sized({ nullable: true }))
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    // The first row of each partition has the same ctid.
    await runSql(
      database,
      `drop table thing;
      create table thing (id bigint, name text collate "C" not null, size bigint, primary key (id, name)) partition by list (name);
      create table thing_a partition of thing for values in ('a');
      create table thing_b partition of thing for values in ('b');
      insert into thing select n, 'a', case when n > 3 then 8 end from generate_series(1, 6) n;
      insert into thing select n, 'b', 7 from generate_series(1, 6) n`,
    )
    setRecords(database, sized({ default: 4 }))
    await makeMigration(database, 'second', optionsAt(1))
    await migrateUp(database, optionsAt(1))
    expect(
      await rows(
        database,
        'select name, size::int, count(*)::int from thing group by 1, 2 order by 1, 2',
      ),
    ).toEqual([
      { name: 'a', size: 4, count: 3 },
      { name: 'a', size: 8, count: 3 },
      { name: 'b', size: 7, count: 6 },
    ])
  })

  it('fill a column while another client writes, and lose none of its values', async () => {
    const url = await address()
    const database = await open(url, sized({ nullable: true }))
    const client = await open(url, sized({ nullable: true }))
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    await sql`insert into thing (name) select 'n' from generate_series(1, 25000)`.execute(
      database.kysely,
    )
    setRecords(database, sized({ default: 4 }))
    await makeMigration(database, 'second', optionsAt(1))
    const migration = { isOver: false }
    const filled = migrateUp(database, optionsAt(1)).finally(() => (migration.isOver = true))
    let writes = 0
    while (!migration.isOver) {
      // Rows of all batches, in turn.
      const id = 1 + ((writes++ * 7919) % 25_000)
      await sql`update thing set size = ${id + 1000} where id = ${id}`.execute(client.kysely)
    }
    await filled
    expect(writes).toBeGreaterThan(0)
    const written = Math.min(writes, 25_000)
    expect(
      await rows(
        database,
        `select count(*)::int as total, count(*) filter (where size = id + 1000)::int as written,
          count(*) filter (where size = 4)::int as filled from thing`,
      ),
    ).toEqual([{ total: 25_000, written, filled: 25_000 - written }])
  })

  it('create a new primary key next to the old one, with all references, and can be reverted', async () => {
    const database = await open(await address(), Project, Task)
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    const project = await database.records(Project).create({ tenantId: 'a', name: 'Roof' })
    await database.records(Task).create({ tenantId: 'a', projectId: project.id })
    const references = (): Promise<unknown[]> =>
      rows(
        database,
        `select conrelid::regclass::text || ' ' || pg_get_constraintdef(oid) as text from pg_constraint
          where contype in ('f', 'p') and convalidated and conrelid::regclass::text in ('project', 'task') order by 1`,
      )
    const before = await references()
    expect(before).toContainEqual({
      text: 'task FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE',
    })
    setRecords(database, ShardedProject, ShardedTask)
    await makeMigration(database, 'second', optionsAt(1))
    const text = await textOf('second', 'postgres')
    expect(text).not.toContain('cascade;')
    expect(text).toContain('create unique index concurrently "project_tenant_id_id_key"')
    expect(text).toContain('primary key using index "project_tenant_id_id_key"')
    expect(text).toMatch(
      /add constraint "task_project_id_fkey" foreign key \("tenant_id", "project_id"\) .* not valid;/,
    )
    await migrateUp(database, optionsAt(1))
    await database.verify()
    expect(await database.differences()).toEqual([])
    expect(await makeMigration(database, 'again', optionsAt(2))).toBeUndefined()
    const after = await references()
    expect(after).toContainEqual({
      text: 'task FOREIGN KEY (tenant_id, project_id) REFERENCES project(tenant_id, id) ON DELETE CASCADE',
    })
    expect(after).toContainEqual({ text: 'project PRIMARY KEY (tenant_id, id)' })
    await migrateDown(database, optionsAt(1))
    expect(await references()).toEqual(before)
    await migrateUp(database, optionsAt(1))
    expect(await references()).toEqual(after)
  })

  it('refuse a new key while a table without a record refers to the old one', async () => {
    const database = await open(await address(), Project, Task)
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    const stray = 'create table stray (project_id uuid references project (id))'
    await runSql(database, stray)
    await rm(join(migrations.folder, 'schema.postgres.json'))
    setRecords(database, ShardedProject, ShardedTask)
    await expect(makeMigration(database, 'second', optionsAt(1))).rejects.toThrow(
      'stray.project_id refers to (id), and no record declares that reference.',
    )
    expect(
      await rows(database, "select 1 from pg_constraint where conrelid = 'stray'::regclass"),
    ).toHaveLength(1)
  })

  it('ask for the value of a required column in existing rows', async () => {
    const database = await open(await address(), thing({ name: ['string'] }))
    await makeMigration(database, 'first', optionsAt(0))
    setRecords(database, thing({ name: ['string'], code: ['string'] }))
    const migration = await makeMigration(database, 'second', optionsAt(1))
    expect(migration?.warnings.join()).toContain('Fill in thing.code for existing rows')
    expect(await textOf('second', 'postgres')).toContain(
      '--   update "thing" set "code" = /* a value */ where "code" is null',
    )
    await migrateUp(database, optionsAt(1))
    await database.verify()
    expect(await database.differences()).toEqual([])
  })

  it('warn about a table rewrite', async () => {
    const database = await open(await address(), thing({ name: ['integer'] }))
    await makeMigration(database, 'first', optionsAt(0))
    setRecords(database, thing({ name: ['string'] }))
    const migration = await makeMigration(database, 'second', optionsAt(1))
    expect(migration?.warnings.join()).toContain('Reads and writes of thing wait')
    expect(await textOf('second', 'postgres')).toContain(
      '-- WARNING: reads and writes of thing wait',
    )
  })
})

describe('the engines of migrations', () => {
  it('can be limited to the ones in use', async () => {
    const database = await open('sqlite::memory:', thing({ name: ['string'] }))
    await makeMigration(database, 'first', { ...optionsAt(0), engines: ['postgres'] })
    expect(await readdir(migrations.folder)).toEqual([
      expect.stringMatching(/^\d+_first\.postgres\.sql$/),
      'schema.postgres.json',
    ])
    await expect(
      makeMigration(database, 'x', { ...optionsAt(1), engines: ['postgress'] }),
    ).rejects.toThrow('Did you mean "postgres"?')
  })

  it('can be checked without a database, field by field', async () => {
    const database = await open('sqlite::memory:', thing({ name: ['string'] }))
    const check = (engines?: string[]): Promise<string[]> =>
      checkMigrations(database, { folder: migrations.folder, engines })
    expect(await check()).toEqual([
      'SQLite: Table thing is missing.',
      'PostgreSQL: Table thing is missing.',
    ])
    await makeMigration(database, 'first', { ...optionsAt(0), engines: ['postgres'] })
    expect(await check()).toEqual([])
    expect(await check(['postgres'])).toEqual([])
    expect(await check(['sqlite'])).toHaveLength(2)
    setRecords(
      database,
      thing({ name: ['string', { index: true }], price: ['integer', { nullable: true }] }),
    )
    expect(await check()).toEqual([
      'PostgreSQL: thing.price is missing (Thing.price).',
      'PostgreSQL: Index thing_name_index on thing is missing (Thing.name).',
    ])
    setRecords(database, thing({ name: ['string', { maxLength: 3, default: 'a' }] }))
    expect(await check()).toEqual([
      'PostgreSQL: thing.name is not checked by the database (Thing.name).',
      "PostgreSQL: thing.name does not have the default 'a' (Thing.name).",
    ])
  })
})
