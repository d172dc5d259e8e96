/** The record of the shop. */
import { Field, Record } from '../../../src/index.js'

@Record
export class Lamp {
  @Field('id') id!: number
  @Field('string', { maxLength: 20, unique: true }) name!: string
}
