import { Zone } from './zone.ts'

/*
 * Which names are zones. Intl alone is not enough: it ignores case, accepts names that no tz database contains (PST,
 * IST, SystemV/EST5, +05:30), and its supportedValuesOf lists only one name for each zone. So a name is valid if
 * Intl lists it, or if it is one of the other names in the tz database, which are all listed here. The rules of every
 * zone still come from Intl. `Factory`, `localtime`, `posix/...` and `right/...` are left out on purpose.
 */
const LEGACY_NAMES: Readonly<Record<string, string>> = {
  '': 'CET CST6CDT Cuba EET EST EST5EDT Egypt Eire GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran Israel Jamaica Japan Kwajalein Libya MET MST MST7MDT NZ NZ-CHAT Navajo PRC PST8PDT Poland Portugal ROC ROK Singapore Turkey UCT UTC Universal W-SU WET Zulu',
  Africa: 'Asmara Asmera Timbuktu',
  America:
    'Argentina/Buenos_Aires Argentina/Catamarca Argentina/ComodRivadavia Argentina/Cordoba Argentina/Jujuy Argentina/Mendoza Atikokan Atka Buenos_Aires Catamarca Coral_Harbour Cordoba Ensenada Fort_Wayne Godthab Indiana/Indianapolis Indianapolis Jujuy Kentucky/Louisville Knox_IN Kralendijk Louisville Lower_Princes Marigot Mendoza Montreal Nipigon Nuuk Pangnirtung Porto_Acre Rainy_River Rosario Santa_Isabel Shiprock St_Barthelemy Thunder_Bay Virgin Yellowknife',
  Antarctica: 'South_Pole',
  Arctic: 'Longyearbyen',
  Asia: 'Ashkhabad Calcutta Choibalsan Chongqing Chungking Dacca Harbin Ho_Chi_Minh Istanbul Kashgar Kathmandu Katmandu Kolkata Macao Rangoon Saigon Tel_Aviv Thimbu Ujung_Pandang Ulan_Bator Yangon',
  Atlantic: 'Faeroe Faroe Jan_Mayen',
  Australia: 'ACT Canberra Currie LHI NSW North Queensland South Tasmania Victoria West Yancowinna',
  Brazil: 'Acre DeNoronha East West',
  Canada: 'Atlantic Central Eastern Mountain Newfoundland Pacific Saskatchewan Yukon',
  Chile: 'Continental EasterIsland',
  Etc: 'GMT GMT+0 GMT+1 GMT+10 GMT+11 GMT+12 GMT+2 GMT+3 GMT+4 GMT+5 GMT+6 GMT+7 GMT+8 GMT+9 GMT-0 GMT-1 GMT-10 GMT-11 GMT-12 GMT-13 GMT-14 GMT-2 GMT-3 GMT-4 GMT-5 GMT-6 GMT-7 GMT-8 GMT-9 GMT0 Greenwich UCT UTC Universal Zulu',
  Europe:
    'Belfast Bratislava Busingen Kiev Kyiv Mariehamn Nicosia Podgorica San_Marino Tiraspol Uzhgorod Vatican Zaporozhye',
  Mexico: 'BajaNorte BajaSur General',
  Pacific: 'Chuuk Enderbury Johnston Kanton Pohnpei Ponape Samoa Truk Yap',
  US: 'Alaska Aleutian Arizona Central East-Indiana Eastern Hawaii Indiana-Starke Michigan Mountain Pacific Samoa',
}

let names: ReadonlySet<string> | undefined
const zones = new Map<string, Zone>()

/** All names that may denote a zone. Intl may know fewer if its tz database is older. */
export function zoneNames(): ReadonlySet<string> {
  names ??= new Set([
    ...Intl.supportedValuesOf('timeZone'),
    ...Object.entries(LEGACY_NAMES).flatMap(([area, places]) =>
      places.split(' ').map((place) => (area === '' ? place : `${area}/${place}`)),
    ),
  ])
  return names
}

/** The zone with exactly this name (case-sensitive), or undefined if there is none. */
export function findZone(name: string): Zone | undefined {
  const known = zones.get(name)
  if (known !== undefined) return known
  if (!zoneNames().has(name)) return undefined
  try {
    const zone = new Zone(name)
    zones.set(name, zone)
    return zone
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** What to do if this process has no zone. */
export const NO_LOCAL_ZONE =
  "the time zone of this process has no name; set the environment variable TZ to an IANA name, such as 'Europe/Berlin'"

/** The zone of this process; undefined if Intl has no name for it: TZ is empty, a path, or a rule such as `UTC+2`. */
export function localZone(): string | undefined {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  return typeof timeZone === 'string' && findZone(timeZone) !== undefined ? timeZone : undefined
}
