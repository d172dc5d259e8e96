/** An application with a column of each kind, references in circles, links and hidden rows, for copies. */
import {
  BeforeWrite,
  BelongsTo,
  Field,
  ManyToMany,
  Module,
  Record,
  type Rel,
} from '../../src/index.js'

@Record
export class Tag {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string', { unique: true }) name!: string
}

@Record({ softDelete: true })
export class Part {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('boolean') isLarge!: boolean
  @Field('decimal', { precision: 12, scale: 2 }) price!: string
  @Field('decimal', { precision: 18, scale: 3 }) weight!: string
  @Field('decimal', { precision: 30, scale: 6 }) mass!: string
  @Field('bigint') code!: string
  @Field('numeric') ratio!: number
  @Field('datetime', { nullable: true }) at!: string | null
  @Field('date', { nullable: true }) day!: string | null
  @Field('time', { nullable: true }) hour!: string | null
  @Field('json', { nullable: true }) data!: unknown
  @Field('blob', { nullable: true }) image!: Buffer | null
  @Field('uuid', { nullable: true }) ref!: string | null
  @Field('string', { hidden: true, nullable: true }) secret!: string | null
  @Field('integer', { nullable: true }) parentId!: number | null
  @BelongsTo(() => Part) parent!: Rel<Part>
  @Field('integer', { nullable: true }) boxId!: number | null
  @BelongsTo(() => Box) box!: Rel<Box>
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>

  @BeforeWrite()
  refuse(this: Part): void {
    if (this.name === 'never again') throw new Error('A hook has run.')
  }
}

@Record
export class Box {
  @Field('id') id!: number
  @Field('integer', { nullable: true }) mainPartId!: number | null
  @BelongsTo(() => Part) mainPart!: Rel<Part>
}

@Module({ records: [Part, Tag, Box] })
export class AppModule {}
