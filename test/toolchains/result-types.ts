/** The types of rows follow what a call loads. Never run: compiled on the published types by every supported compiler. */
import {
  BelongsTo,
  BeforeWrite,
  Field,
  HasMany,
  ManyToMany,
  Record,
  type CallerRecords,
  type CommitContext,
  type FirstOptions,
  type Generated,
  type ListOptions,
  type Loaded,
  type MaybeLoaded,
  type Rel,
  type RelationPath,
  type Repository,
  type Row,
  type Transaction,
  type Visible,
  type WithCounts,
  type WriteContext,
} from 'filigree'

@Record()
export class Project {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Ticket) tickets!: Rel<Ticket[]>
}

/** A record without relations, with a private member. */
@Record()
export class Label {
  @Field('id') id!: number
  @Field('string') word!: string
  private upper(): string {
    return this.word.toUpperCase()
  }
  shout(): string {
    return this.upper()
  }
}

@Record()
export class Ticket {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('enum', { oneOf: ['open', 'closed'] }) status!: Generated<'open' | 'closed'>
  @Field('integer') projectId!: number
  @BelongsTo(() => Project) project!: Rel<Project>
  @Field('integer', { nullable: true }) parentId!: number | null
  @BelongsTo(() => Ticket) parent!: Rel<Ticket>
  @HasMany(() => Ticket) parts?: Rel<Ticket[]>
  @ManyToMany(() => Label) labels!: Rel<Label[]>
  @Field('json') place!: { x: number }

  get isOpen(): boolean {
    return this.status === 'open'
  }
  rename(title: string): void {
    this.title = title
  }
  @BeforeWrite()
  check(context: WriteContext<Ticket>): string | undefined {
    // @ts-expect-error a hook's row has no related rows
    const name: string = this.project.name
    // @ts-expect-error neither has the stored row
    return context.before?.project ?? name
  }
}

/* eslint-disable @typescript-eslint/no-unnecessary-type-parameters --
   comparing two types takes type parameters used once. */
type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/* eslint-enable */
declare function same<A, B>(...proof: Equal<A, B> extends true ? [] : [never]): void

type Tickets = Repository<Ticket>
declare const maybe: boolean

export async function rows(tickets: Tickets, labels: Repository<Label>): Promise<void> {
  const listed = await tickets.list({ where: { status: 'open' }, limit: 3 })
  same<typeof listed, Row<Ticket>[]>()
  same<typeof listed, Awaited<ReturnType<typeof tickets.createMany>>>()
  const [row] = await tickets.list()
  if (row === undefined) return
  same<[typeof row.place, typeof row.isOpen], [{ x: number }, boolean]>()
  row.rename('new')
  // @ts-expect-error not loaded
  void row.project
  // @ts-expect-error declared as optional, and not loaded either
  void row.parts
  const found = await tickets.find(1)
  same<typeof found, Row<Ticket> | null>()
  const created = await tickets.create({
    title: 'a',
    projectId: 1,
    parentId: null,
    place: { x: 1 },
  })
  same<typeof created, Row<Ticket>>()
  const updated = await tickets.update(1, { title: 'b' })
  same<typeof updated, Row<Ticket> | null>()
  const upserted = await tickets.upsert({ id: 1 }, { by: 'id' })
  same<typeof upserted, Row<Ticket>>()
  // Rows of a record without relations have its class, private members included.
  const label: Label[] = await labels.list()
  const one: Label | null = await labels.first({ orderBy: 'word' })
  void [label, one]
}

export async function loaded(tickets: Tickets, tx: Transaction): Promise<void> {
  const listed = await tickets.list({ with: ['project', 'parent', 'parts.labels'] })
  same<typeof listed, Loaded<Ticket, 'project' | 'parent' | 'parts.labels'>[]>()
  const [row] = listed
  if (row === undefined) return
  same<typeof row.project, Row<Project>>()
  same<typeof row.parent, Row<Ticket> | null>()
  same<typeof row.parts, Loaded<Ticket, 'labels'>[]>()
  same<(typeof row.parts)[number]['labels'], Label[]>()
  // @ts-expect-error not loaded
  void row.labels
  // @ts-expect-error not loaded with the related row
  void row.project.tickets
  const locked = await tx.records(Ticket).find(1, { with: ['project.tickets'], lock: true })
  same<typeof locked, Loaded<Ticket, 'project.tickets'> | null>()
  const first = await tickets.first({ where: { id: 1 }, orderBy: ['-id'], with: ['labels'] })
  same<typeof first, Loaded<Ticket, 'labels'> | null>()
  const counted = await tickets.list({ with: ['labels'], counts: ['parts'] })
  same<typeof counted, WithCounts<Loaded<Ticket, 'labels'>, 'parts'>[]>()
  same<(typeof counted)[number]['partsCount'], number>()
}

export async function unknown(
  tickets: Tickets,
  options: ListOptions<Ticket>,
  first: FirstOptions<Ticket>,
  paths: RelationPath<Ticket>[],
  names: ('parts' | 'labels')[],
): Promise<void> {
  const listed = await tickets.list(options)
  same<typeof listed, MaybeLoaded<Ticket>[]>()
  same<MaybeLoaded<Ticket>['project'], MaybeLoaded<Project> | null | undefined>()
  const one = await tickets.first(first)
  same<typeof one, MaybeLoaded<Ticket> | null>()
  const found = await tickets.find(1, { with: paths })
  const name: string | undefined = found?.project?.tickets?.[0]?.project?.name
  const chosen = await tickets.find(1, maybe ? { with: ['project'] } : {})
  if (chosen !== null && 'project' in chosen) same<typeof chosen.project, Row<Project>>()
  const literal = { with: ['project'] } as const
  const project: string | undefined = (await tickets.find(1, literal))?.project.name
  const [counted] = await tickets.list({ counts: names })
  same<NonNullable<typeof counted>['partsCount'], number | undefined>()
  void [name, project]
}

export async function passed(tickets: Tickets): Promise<void> {
  const title = (ticket: Row<Ticket>): string => ticket.title
  const projectOf = (ticket: Loaded<Ticket, 'project'>): string => ticket.project.name
  const plain = await tickets.find(1)
  const withProject = await tickets.first({ with: ['project', 'labels'] })
  if (plain === null || withProject === null) return
  void [title(plain), title(withProject), projectOf(withProject), tickets.cursorOf(withProject)]
  // @ts-expect-error the function needs a row with its project
  projectOf(plain)
  // @ts-expect-error a row without its relations is not the whole class
  const whole: Ticket = plain
  if (whole instanceof Ticket) void title(whole)
}

/** A service of any record. */
export class Service<T extends object> {
  constructor(private readonly records: Repository<T>) {}
  all() {
    return this.records.list()
  }
}
export async function general(service: Service<Ticket>): Promise<void> {
  const all = await service.all()
  same<typeof all, Row<Ticket>[]>()
}

export async function callers(mine: CallerRecords<Ticket>): Promise<void> {
  const found = await mine.find(1, { with: ['project', 'labels'] })
  same<typeof found, Visible<Ticket, 'project' | 'labels'> | null>()
  // A caller may see a row, but not the row that it refers to.
  same<NonNullable<typeof found>['project'], Row<Project> | null>()
  same<NonNullable<typeof found>['labels'], Label[]>()
  const listed = await mine.list({ where: { status: 'open' } })
  same<typeof listed, Row<Ticket>[]>()
  const first = await mine.first({ with: ['parent'] })
  same<typeof first, Visible<Ticket, 'parent'> | null>()
  for await (const page of mine.all({}, { with: ['labels'] }))
    same<typeof page, Visible<Ticket, 'labels'>[]>()
  const created = await mine.create({ title: 'a' })
  same<typeof created, Row<Ticket>>()
}

export function hooks(context: CommitContext<Ticket>): void {
  same<typeof context.after, Readonly<Row<Ticket>> | null>()
}

export function rejected(tickets: Tickets, texts: string[]): unknown[] {
  return [
    // @ts-expect-error misspelt: a relation
    tickets.list({ with: ['projct'] }),
    // @ts-expect-error misspelt: a relation of a relation
    tickets.first({ with: ['project', 'parts.lables'] }),
    // @ts-expect-error unknown names
    tickets.find(1, { with: texts }),
    // @ts-expect-error misspelt: a count
    tickets.list({ counts: ['lables'] }),
    // @ts-expect-error misspelt: an order
    tickets.first({ orderBy: ['-titel'] }),
    // @ts-expect-error a list's option
    tickets.first({ limit: 1 }),
    // @ts-expect-error not one of the values
    tickets.list({ where: { status: 'lost' } }),
    // @ts-expect-error not one of the values, in a list
    tickets.first({ where: { status: { in: ['open', 'lost'] } } }),
    // @ts-expect-error misspelt: a sum
    tickets.aggregate({ sum: ['projctId'] }),
    // @ts-expect-error misspelt: a group
    tickets.aggregate({ groupBy: ['projctId'] }),
  ]
}
