import { mix } from '../../random.ts';

/** Names that nobody bears. */
const GIVEN = (
  'Testine Prøvar Eksempline Fiktivar Oppdikta Tenkte Liksomine Modellar Skissa Utkastian ' +
  'Demonstine Plassholda Mønstrid Simulert Fantasine Påfunnar Dummine Variabla Syntetine ' +
  'Attrappa'
).split(' ');
const FAMILY = (
  'Prøvesen Testrud Eksempelsen Fiktivsen Oppdiktstad Tenktvik Liksomdal Modellseth Skissnes ' +
  'Utkasthaug Demonstad Plassholdsen Mønsterås Simulsen Fantasivoll Påfunnlien Dummeland ' +
  'Variabelsen Syntetmo Attrappeng'
).split(' ');
const PLACES =
  'Prøvefjell Testvik Eksempelåsen Fiktivdalen Tenkthaug Liksomnes Modellmoen Skissestrand'.split(' ');

export interface InventedName {
  readonly given: string;
  readonly family: string;
  /** For user names and addresses: ASCII, unique by number. */
  readonly handle: string;
}

export function inventName(seed: number, kind: number, index: number): InventedName {
  const hash = mix(seed, kind, index, 77);
  const given = GIVEN[hash % GIVEN.length] ?? 'Testine';
  const family = FAMILY[(hash >>> 8) % FAMILY.length] ?? 'Prøvesen';
  return { given, family, handle: `${ascii(given)}.${ascii(family)}.${kind}${index}` };
}

export function inventPlace(index: number): string {
  const place = PLACES[index % PLACES.length] ?? 'Prøvefjell';
  const round = Math.floor(index / PLACES.length);
  return round === 0 ? place : `${place} ${round + 1}`;
}

function ascii(text: string): string {
  return text.toLowerCase().replaceAll('ø', 'o').replaceAll('å', 'a').replaceAll('æ', 'ae');
}
